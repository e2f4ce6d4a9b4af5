"""What is shown of a comparison, as typed values for the terminal, programs and the report."""
