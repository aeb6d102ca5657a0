"""The catalogue of metrics by the rules of `promtool check metrics`, and the dashboard that is generated from it."""

import json
import re
from pathlib import Path

import pytest
from amdgpu._generated.metrics import METRICS

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana" / "amdgpu.json"
# Units that promtool wants in their base form, and words for kinds that have no place in a name.
NOT_BASE = {
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "minutes",
    "hours",
    "days",
    "kilobytes",
    "megabytes",
    "gigabytes",
    "kibibytes",
    "mebibytes",
    "bits",
    "percent",
    "milliwatts",
    "kilowatts",
    "millijoules",
    "kilojoules",
    "megahertz",
    "gigahertz",
    "fahrenheit",
    "kelvin",
    "millivolts",
}
KINDS = ("counter", "gauge", "histogram", "summary")
RESERVED_SUFFIXES = ("_count", "_sum", "_bucket", "_created")
RESERVED_LABELS = ("le", "quantile", "job", "instance")
BY_NAME = {row.name: row for row in METRICS}


@pytest.mark.parametrize("row", METRICS, ids=lambda row: row.name)
def test_names_follow_the_rules_of_promtool(row):
    assert re.fullmatch(r"amdgpu(_[a-z0-9]+)+", row.name)
    words = row.name.split("_")
    assert not set(words) & NOT_BASE, "base units only"
    assert not set(words) & set(KINDS), "a name does not say the kind"
    assert not row.name.endswith(RESERVED_SUFFIXES)
    assert (row.kind == "counter") == row.name.endswith("_total")
    assert row.meaning.endswith(".")
    assert len(set(row.labels)) == len(row.labels)
    for label in row.labels:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", label)
        assert label not in RESERVED_LABELS
    if row.kind == "histogram":
        assert row.name.endswith("_seconds"), "histograms of this bus measure durations"


@pytest.fixture(scope="module")
def dashboard():
    return json.loads(DASHBOARD.read_text())


def panels_of(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def metrics_in(expression):
    """Names of metrics in a query; histograms lose the suffix of their series."""
    found = re.findall(r"\bamdgpu_[a-z0-9_]+", expression)
    return [name.removesuffix("_bucket") if name not in BY_NAME else name for name in found]


def test_every_query_names_metrics_of_the_catalogue_and_their_labels(dashboard):
    for panel in panels_of(dashboard):
        for target in panel["targets"]:
            names = metrics_in(target["expr"])
            assert len(names) == 1
            row = BY_NAME[names[0]]
            for label in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
                assert label in (*row.labels, "instance")
            for label in re.findall(r"(\w+)=~", target["expr"]):
                assert label in (*row.labels, "instance")
            for label in ", ".join(re.findall(r"by \(([^)]*)\)", target["expr"])).split(", "):
                assert label in ("", "le", *row.labels)
            assert ("rate(" in target["expr"]) == (row.kind in ("counter", "histogram"))
            assert ("histogram_quantile(" in target["expr"]) == (row.kind == "histogram")
            assert target["expr"].count("(") == target["expr"].count(")")


def test_every_metric_has_one_panel(dashboard):
    shown = [
        {name for target in panel["targets"] for name in metrics_in(target["expr"])} for panel in panels_of(dashboard)
    ]
    assert sorted(name for names in shown for name in names) == sorted(BY_NAME)


def test_panels_have_numbers_of_their_own_and_do_not_overlap(dashboard):
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_choices_of_the_dashboard_are_those_that_queries_use(dashboard):
    names = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard["panels"]))) - {"__rate_interval"}
    assert used == names == {"datasource", "instance", "device"}
    for variable in dashboard["templating"]["list"]:
        for name in re.findall(r"label_values\((amdgpu_\w+)", variable.get("definition", "")):
            assert name in BY_NAME
