"""Tests of autoscaler.observe."""
