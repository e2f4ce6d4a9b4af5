//go:build tools

// Package tools keeps the Nomad Autoscaler in go.mod.
package tools

import _ "github.com/hashicorp/nomad-autoscaler/agent"
