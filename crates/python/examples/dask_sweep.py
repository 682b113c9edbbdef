"""A sweep on Dask workers, here on this machine; a client of a cluster takes their place.

python dask_sweep.py [tcp://scheduler:8786]
"""

import sys
import tempfile

import distributed

import flashloom


def main() -> None:
    # A cluster of two workers. With dask-jobqueue it would be SLURMCluster(...), with dask-kubernetes KubeCluster(...).
    cluster = (
        sys.argv[1]
        if sys.argv[1:]
        else distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    )
    study = flashloom.Study(
        {
            "name": "depth-and-channels",
            "device": "demo",
            "workload": "oltp",
            "run": {"limit": 2000, "precondition": ["fill"]},
            "set": {"device": {"flash": {"blocks": 26}, "ftl": {"capacity": "100MiB"}}},
            "metrics": ["read.p99"],
        }
    )
    study.axis("channels", "device.flash.channels", [2, 4]).axis("depth", "run.depth", [1, 8])
    with distributed.Client(cluster) as client, tempfile.TemporaryDirectory() as store:
        outcome = study.run(executor=client, store=store, progress=False)
        again = study.run(executor=client, store=store, progress=False)
    print(f"{len(outcome)} points on {'a cluster' if sys.argv[1:] else 'two workers'}")
    print(f"the second time {again.stored} came from the store")
    for labels, p99 in outcome.values("read.p99"):
        print(f"{labels[0]} channels, depth {labels[1]}: read p99 {p99 or 0.0:.1f} us")
    print("as on this machine alone:", outcome.to_json() == study.run(progress=False).to_json())
    if not isinstance(cluster, str):
        cluster.close()


# Workers that start on this machine import this file.
if __name__ == "__main__":
    main()
