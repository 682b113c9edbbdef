"""A victim policy of one's own against greedy and cost-benefit."""

import flashloom


def patient(blocks):
    """Greedy, but a superblock that has just been closed is left alone."""
    return blocks.invalid * (blocks.age >= 8)


drive = {"flash": {"blocks": 26, "pages": 24}, "ftl": {"capacity": "100MiB"}, "buffer": {"size": "64KiB"}}
policies = [("greedy", {"policy": "greedy"}), ("cost-benefit", {"policy": "cost-benefit"})]
policies.append(("patient", flashloom.policy.victim(patient)))
study = flashloom.Study(
    {
        "name": "victims",
        "device": "demo",
        "workload": "zipf-write-4k",
        "run": {"limit": 60_000, "precondition": ["fill", "random:x1"]},
        "set": {"device": drive},
        "metrics": ["waf", "write.mean"],
    }
)
study.axis("victim", points=[{"at": name, "set": {"device": {"ftl": {"gc": {"victim": policy}}}}} for name, policy in policies])
for (name,), amplification in study.run().values("waf"):
    print(f"{name:>12}: write amplification {amplification:.2f}")
