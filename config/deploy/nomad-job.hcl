# The daemon as a job of the Nomad cluster that it scales. Its configuration, autoscaler.yaml, is beside this file.
#
#   install -d -o 65532 -m 700 /srv/autoscaler               # on the client with the state, and in its configuration:
#                                                            #   client { host_volume "autoscaler" { path = "/srv/autoscaler" } }
#   nomad acl policy apply -namespace default -job autoscaler autoscaler nomad-policy.hcl    # with ACLs
#   nomad job validate -var image=registry.example/prometheus-autoscaler:0.1.0 nomad-job.hcl
#   nomad job run -var image=registry.example/prometheus-autoscaler:0.1.0 nomad-job.hcl
#
# `-var NAME=VALUE` or `-var-file=FILE` sets the variables. In the configuration, `tokenFile: /secrets/nomad_token` is
# the token that Nomad gives the task for that policy. On the client, `autoscaler get` works. The control socket is in
# the container: `nomad alloc exec -job autoscaler autoscaler pause NAME`.

variable "image" {
  type        = string
  description = "The image, as the clients pull it: REGISTRY/prometheus-autoscaler:VERSION."

  validation {
    condition     = length(split(":", split("/", reverse(var.image))[0])) == 2 # a colon after the last slash
    error_message = "The image names no version: Nomad would run another one after a restart. Write NAME:VERSION."
  }
}

variable "configuration" {
  type        = string
  default     = "autoscaler.yaml"
  description = "The configuration's path on the machine that runs `nomad job run`."
}

variable "datacenters" {
  type        = list(string)
  default     = ["*"]
  description = "Where the job may run."
}

variable "namespace" {
  type        = string
  default     = "default"
  description = "The job's own namespace; the policy names those that it scales."
}

variable "volume" {
  type        = string
  default     = "autoscaler"
  description = "The client's host volume for the state. Empty: there is none, for `state.url` is on PostgreSQL."
}

variable "cpu" {
  type        = number
  default     = 200
  description = "MHz."
}

variable "memory" {
  type        = number
  default     = 256
  description = "MiB; docs/operations.md says how it grows."

  validation {
    condition     = var.memory >= 128
    error_message = "The daemon needs at least 128 MiB."
  }
}

job "autoscaler" {
  datacenters = var.datacenters
  namespace   = var.namespace

  group "autoscaler" {
    count = 1 # a second one on the same state refuses to start

    dynamic "volume" {
      for_each = var.volume == "" ? [] : [var.volume]
      labels   = ["state"]

      content {
        type   = "host"
        source = volume.value
      }
    }

    task "daemon" {
      driver = "docker"
      user   = "65532" # as in the image; Nomad gives the token's file to this user

      config {
        image           = var.image
        args            = ["run", "--config.file=/local/autoscaler.yaml"]
        network_mode    = "host" # the page and /metrics on 127.0.0.1:9797; docs/http.md has users and TLS for more
        readonly_rootfs = true
        cap_drop        = ["all"]

        mount {
          type   = "tmpfs"
          target = "/tmp"
        }
      }

      dynamic "volume_mount" {
        for_each = var.volume == "" ? [] : [var.volume]

        content {
          volume      = "state"
          destination = "/var/lib/autoscaler"
        }
      }

      template {
        data            = file(var.configuration)
        destination     = "local/autoscaler.yaml"
        left_delimiter  = "[[[" # {{ is Prometheus' own, in queries
        right_delimiter = "]]]"
        change_mode     = "signal"
        change_signal   = "SIGHUP"
      }

      identity {
        file = true
      }

      kill_timeout = "45s" # running cycles are finished first

      resources {
        cpu    = var.cpu
        memory = var.memory
      }
    }
  }
}
