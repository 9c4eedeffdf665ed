# SPDX-License-Identifier: GPL-2.0-only
"""What Prometheus makes of rpcordmactl's metrics, by its promtool, and what the dashboard for Grafana asks of them."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ctl.rpcordmactl import metrics
from ctl.rpcordmactl.records import Address, Record
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus
from test_rpcordmactl import MODULE, TOP, connection, responder

DASHBOARD = TOP / "Documentation/grafana/rpcordma.json"
# Of what Grafana puts into queries.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*", "$role": ".*", "$device": ".*"}
# Labels that Prometheus adds.
ADDED = {"instance"}
# What the help of a metric may begin with.
UNITS = {"Answers", "Bytes", "Calls", "Connections", "Invalidations", "Messages", "RDMA_ERRORs", "Registrations",
         "Replies", "Seconds", "Segments", "The", "Times", "Whether"}
# How the names of counters' samples end, and of a histogram's.
COUNTED = ("_total", "_bucket", "_count", "_sum")


def numbered() -> Record:
    """A requester's, with all numbers that a connection may have."""
    named = [*metrics.COUNTERS, *metrics.GAUGES]
    whole: Record = {name: number for number, name in enumerate(named, 1)}
    whole |= {name: {"one": 1, "another": 2} for name in metrics.TALLIES}
    return connection(**whole)


def everything() -> metrics.Collector:
    """Both roles."""
    return metrics.Collector(MODULE, [{"address": Address("::", 20049), "is_listening": 1}], [numbered(), responder()])


def promtool(*words: str, stdin: str | None = None, cwd: Path | None = None) -> str:
    """What it says where it has nothing to object to."""
    done = subprocess.run([TOP / "scripts/promtool", *words], input=stdin, cwd=cwd, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def samples() -> dict[str, set[str]]:
    """The names of all samples, and the labels of each."""
    found: dict[str, set[str]] = {}
    for family in parse_prometheus(metrics.text(everything(), True)):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_the_help_of_each_metric_names_its_unit() -> None:
    """Names do not, and stay as they are."""
    families = parse_prometheus(metrics.text(everything(), True))
    begun = {family.name: family.documentation.split()[0] for family in families}
    assert set(begun.values()) <= UNITS, begun
    assert begun["rpcordma_svc_reads"] == begun["rpcordma_svc_writes"] == "Segments"


def test_a_failure_leaves_the_numbers_of_before(tmp_path: Path) -> None:
    """Where node_exporter gets them as the manual says."""
    manual = (TOP / "Documentation/rpcordmactl.8").read_text()
    recipe, = re.findall(r"^(?:\.Dl )?# (rpcordmactl metrics.*)$", manual, re.M)
    (tmp_path / "rpcordma.prom").write_text("before")
    recipe = recipe.replace("/var/lib/prometheus/node-exporter/", "")
    for body, left in (("echo half; exit 1", "before"), ("echo whole", "whole\n")):
        subprocess.run(["bash", "-c", f"rpcordmactl() {{ ({body}); }}; {recipe}"], cwd=tmp_path, check=False)
        assert (tmp_path / "rpcordma.prom").read_text() == left


def targets() -> list[dict[str, Any]]:
    """Each query of the dashboard: its expression and its legend."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target for panel in panels for target in panel.get("targets", [])]


def query(target: dict[str, Any], **chosen: str) -> str:
    """As Grafana would send it, where all is shown but for what is chosen."""
    expression: str = target["expr"]
    for name, value in (VARIABLES | {f"${name}": value for name, value in chosen.items()}).items():
        expression = expression.replace(name, value)
    return expression


def labelled(*connections: Record) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    """The series of these connections but for the one that tells of their devices."""
    collector = metrics.Collector(MODULE, [], list(connections))
    return {(sample.name, frozenset(sample.labels.items()))
            for family in parse_prometheus(metrics.text(collector, True)) for sample in family.samples
            if sample.name != "rpcordma_connection_info"}


def test_a_disconnect_changes_no_label() -> None:
    """A requester has no device then, and its counters go on."""
    here, gone = numbered(), numbered()
    del gone["device"]
    assert labelled(here) == labelled(gone)
    assert samples()["rpcordma_connection_info"] == {*metrics.LABELS, "device"}


@pytest.mark.parametrize("tally", metrics.TALLIES)
def test_the_first_count_of_a_tally_can_be_seen(tally: str) -> None:
    """By the sum over its reasons, which was 0 before."""
    name, _ = metrics.SUMS[tally]
    calm, troubled = connection(), connection(**{tally: {"one": 1, "another": 2}})
    counted = [[sample.value for family in parse_prometheus(metrics.text(metrics.Collector(MODULE, [], [record]), True))
                for sample in family.samples if sample.name == f"rpcordma_{name}_total"] for record in (calm, troubled)]
    assert counted == [[0], [3]]
    assert samples()[f"rpcordma_{name}_total"] == set(metrics.LABELS)


def test_promtool_has_nothing_to_object_to() -> None:
    """In the text format of Prometheus, which is what it checks."""
    assert promtool("check", "metrics", stdin=metrics.text(everything(), True)) == ""


def test_prometheus_reads_openmetrics(tmp_path: Path) -> None:
    """All samples. Only "tsdb" of promtool reads this format, and it wants a time behind each sample."""
    text = metrics.text(everything(), False)
    timed = re.sub(r"^([^#].*)$", r"\1 1800000000", text, flags=re.M)
    (tmp_path / "metrics").write_text(timed)
    promtool("tsdb", "create-blocks-from", "openmetrics", str(tmp_path / "metrics"), str(tmp_path / "data"))
    # It misses the log that a server would keep.
    (tmp_path / "data/wal").mkdir()
    # Debian 13's wants a directory of this name where it is called.
    dumped = promtool("tsdb", "dump", str(tmp_path / "data"), cwd=tmp_path)
    assert len(re.findall(r"^\{", dumped, re.M)) == len(re.findall(r"^[^#]", text, re.M))


def test_the_queries_of_the_dashboard_are_promql(tmp_path: Path) -> None:
    """Each as a rule of its own."""
    rules = [{"record": f"dashboard:{number}", "expr": query(target)} for number, target in enumerate(targets())]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", str(tmp_path / "rules.json"))


def series() -> list[dict[str, str]]:
    """The metrics of a machine whose counters count, each minute, for promtool."""
    return [{"series": f'{name}{{instance="host"{"," if labels else ""}{labels}}}',
             "values": f"{value}+{int(name.endswith(COUNTED))}x20"}
            for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", metrics.text(everything(), True),
                                                  re.M)]


def evaluate(directory: Path, answers: dict[str, list[dict[str, Any]]]) -> None:
    """Prometheus answers each query so after ten minutes."""
    tests = [{"expr": query_, "eval_time": "10m", "exp_samples": samples_} for query_, samples_ in answers.items()]
    (directory / "test.json").write_text(json.dumps({"evaluation_interval": "1m", "tests": [
        {"interval": "1m", "input_series": series(), "promql_expr_test": tests}]}))
    promtool("test", "rules", str(directory / "test.json"))


def test_each_query_of_the_dashboard_has_an_answer(tmp_path: Path) -> None:
    """Prometheus evaluates them."""
    evaluate(tmp_path, {f"count({query(target)}) > bool 0": [{"labels": "{}", "value": 1}] for target in targets()})


def test_the_dashboard_can_show_one_device(tmp_path: Path) -> None:
    """What is known of connections is shown for it, and not for another one."""
    of_connections = [target for target in targets() if "$role" in target["expr"]]
    evaluate(tmp_path, {
        f"count({query(target, device=device)}) > bool 0": [{"labels": "{}", "value": 1}] if device == "rxe0" else []
        for target in of_connections if "== 0" not in target["expr"] for device in ("rxe0", "rxe1")})


def test_a_query_can_add_the_device(tmp_path: Path) -> None:
    """As Documentation/observability.rst has it."""
    documented = re.search(r"^    (rate\(.*group_left.*)$", (TOP / "Documentation/observability.rst").read_text(), re.M)
    assert documented
    evaluate(tmp_path, {f"count by (device) ({documented[1]})": [
        {"labels": '{device="rxe0"}', "value": 1}, {"labels": "{}", "value": 1}]})


@pytest.mark.parametrize("target", targets(), ids=lambda target: re.search(r"rpcordma_\w+", target["expr"])[0])
def test_labels_of_the_dashboard_exist(target: dict[str, Any]) -> None:
    """A matcher of all values would also match a label that is not there."""
    there = samples()
    labels = ADDED.union(*(there[name] for name in re.findall(r"rpcordma_\w+", target["expr"])))
    for name, selector in re.findall(r"(rpcordma_\w+)\{(.*?)\}", target["expr"]):
        assert set(re.findall(r"(\w+)=", selector)) <= there[name] | ADDED
    grouped = re.search(r"by \((.*?)\)", target["expr"])
    if grouped:
        assert set(grouped[1].split(", ")) <= labels
        labels = set(grouped[1].split(", "))
    assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels


def test_variables_of_the_dashboard_exist() -> None:
    """Each is asked of a metric with the label."""
    there = samples()
    asked = [re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", variable["definition"])
             for variable in json.loads(DASHBOARD.read_text())["templating"]["list"] if variable["type"] == "query"]
    assert all(found and found[2] in there[found[1]] | ADDED for found in asked)
    assert {f"${found[2]}" for found in asked if found} <= VARIABLES.keys()


def test_the_dashboard_shows_each_metric() -> None:
    """And nothing else."""
    shown = {name for target in targets() for name in re.findall(r"rpcordma_\w+", target["expr"])}
    assert shown == samples().keys()
