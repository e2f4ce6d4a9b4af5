# What the daemon may do: read the jobs of a namespace, and change their counts.
namespace "default" {
  capabilities = ["read-job", "list-jobs", "scale-job"]
}
