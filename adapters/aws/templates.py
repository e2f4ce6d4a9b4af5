"""Templates that set a size again at their next deployment, as far as a resource's tags name them."""

from collections.abc import Mapping


def reset_by(tags: Mapping[str, str], *, cloudformation: str, terraform: str) -> str:
    """Return which template sets the size, and the remedy; empty: no tag names one.

    `cloudformation`: how a stack's update leaves the size alone, as an imperative sentence. `terraform`: the argument
    that holds the size.
    """
    stack = tags.get("aws:cloudformation:stack-name")
    if stack:
        return f"an update of the CloudFormation stack {stack} sets the size that its template says; {cloudformation}"
    named = next((f"{key}={value}" for key, value in tags.items() if "terraform" in f"{key}={value}".lower()), None)
    if named is None:
        return ""
    remedy = f"write `lifecycle {{ ignore_changes = [{terraform}] }}`"
    return f"the tag {named} names Terraform, which sets {terraform}; {remedy}"
