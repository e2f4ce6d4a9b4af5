//go:build tools

// Package tools keeps Nomad in go.mod: `go install` refuses it, because its own go.mod has replace lines.
package tools

import _ "github.com/hashicorp/nomad/command"
