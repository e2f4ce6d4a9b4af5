module nomadautoscaler

go 1.25.10

require github.com/hashicorp/nomad-autoscaler v0.5.0
