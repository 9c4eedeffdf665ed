# SPDX-License-Identifier: GPL-2.0-only
"""Draws what make bench --curve has measured."""

import json
from pathlib import Path

import matplotlib
from bench.workloads import CURVES

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

# Readable on white and on dark pages alike; a side has a colour, a line a dash.
COLOURS = ("#c65d21", "#1f77b4", "#2c8c4a", "#8a6fb0")
DASHES = {"read": "-", "write": "--"}
# The file is the same for the same figures.
matplotlib.rcParams["svg.hashsalt"] = "rpcordma"


def draw(source: Path, target: Path) -> None:
    """Makes the SVG file of a JSON file. Raises ValueError where that has no curve."""
    contents = json.loads(source.read_text(encoding="utf-8"))
    if not isinstance(contents, dict) or contents.get("curve") not in CURVES:
        raise ValueError(f"{source} has no curve: scripts/bench --curve makes such files")
    curve = CURVES[contents["curve"]]
    versions = list(dict.fromkeys(row["nfs"] for row in contents["rows"]))
    figure, all_axes = pyplot.subplots(1, len(versions), figsize=(6 * len(versions), 4), squeeze=False)
    for axes, version in zip(all_axes[0], versions):
        rows = {row["workload"]: row["sides"] for row in contents["rows"] if row["nfs"] == version}
        measured = [workload for workload in curve.workloads if workload.name in rows]
        for number, side in enumerate(contents["sides"]):
            for kind, dash in DASHES.items():
                points = [(getattr(workload, curve.attribute),
                           rows[workload.name][number]["instructions_per_operation"] / 1000)
                          for workload in measured if workload.writes == (kind == "write")]
                if points:
                    axes.plot(*zip(*points), dash, marker="o", markersize=3, color=COLOURS[number],
                              label=f"{side['name']}, {kind}")
        axes.set(xscale="log", xlabel=curve.axis, ylabel="thousand instructions per operation",
                 title=f"NFS {version}, Linux {contents['kernel']}")
        axes.set_xticks(sorted({getattr(workload, curve.attribute) for workload in measured}))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    # Files in the project say what they may be used for.
    text = target.read_text(encoding="utf-8")
    notice = "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n"
    target.write_text(text.replace("<!DOCTYPE", notice + "<!DOCTYPE", 1), encoding="utf-8")
