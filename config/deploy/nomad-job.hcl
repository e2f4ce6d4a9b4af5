# The daemon as a job of the Nomad cluster that it scales. Its configuration, autoscaler.yaml, is beside this file.
#
#   install -d -o 65532 -m 700 /srv/autoscaler               # on the client with the state, and in its configuration:
#                                                            #   client { host_volume "autoscaler" { path = "/srv/autoscaler" } }
#   nomad acl policy apply -namespace default -job autoscaler autoscaler nomad-policy.hcl    # with ACLs
#   nomad job run -var image=registry.example/prometheus-autoscaler:0.1.0 nomad-job.hcl
#
# In the configuration, `tokenFile: /secrets/nomad_token` is the token that Nomad gives the task for that policy.
# On the client, `autoscaler get` works. The control socket is in the container:
# `nomad alloc exec -job autoscaler autoscaler pause NAME`.

variable "image" {
  type = string
}

job "autoscaler" {
  group "autoscaler" {
    count = 1 # a second one on the same state refuses to start

    volume "state" { # with state.url on PostgreSQL it needs none, and may run on any client
      type   = "host"
      source = "autoscaler"
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

      volume_mount {
        volume      = "state"
        destination = "/var/lib/autoscaler"
      }

      template {
        data            = file("autoscaler.yaml")
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
        cpu    = 200
        memory = 256 # docs/operations.md says how it grows
      }
    }
  }
}
