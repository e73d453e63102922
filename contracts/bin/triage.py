#!/usr/bin/env python3
"""Compares Slither's findings (JSON) with the table in a Markdown file: | check | where | why |.

`where` is Contract.function (or Contract, or * for every place). Exit status 1 on a finding without a row, on a row
without a finding, and on a row without a reason.
"""
import json
import sys


def place(finding):
    """The innermost named place of a finding's first element."""
    element = finding["elements"][0]
    names = [element["name"]]
    parent = element.get("type_specific_fields", {}).get("parent")
    while parent and parent["type"] in ("contract", "function"):
        names.append(parent["name"])
        parent = parent.get("type_specific_fields", {}).get("parent")
    if element["type"] not in ("contract", "function") and len(names) > 2:
        names = names[1:]
    return ".".join(reversed(names))


def rows(path):
    found = {}
    with open(path, encoding="utf-8") as text:
        for line in text:
            cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
            if line.startswith("|") and len(cells) == 3 and cells[0] not in ("check", "") and set(cells[0]) != {"-"}:
                found[(cells[0], cells[1])] = cells[2]
    return found


def main(findings_path, triage_path):
    with open(findings_path, encoding="utf-8") as text:
        report = json.load(text)
    if not report["success"]:
        sys.exit(f"slither failed: {report['error']}")
    triage = rows(triage_path)
    used, open_findings = set(), []
    for finding in report["results"].get("detectors", []):
        key = (finding["check"], place(finding))
        row = key if key in triage else (finding["check"], "*")
        if row in triage and triage[row]:
            used.add(row)
        else:
            open_findings.append(f"{finding['impact']}: {key[0]} in {key[1]}\n{finding['description'].rstrip()}\n")
    stale = [f"{check} in {where}" for check, where in triage if (check, where) not in used]
    for text in open_findings:
        print(f"not triaged: {text}")
    for text in stale:
        print(f"triaged, but not found any more: {text}")
    total = len(report["results"].get("detectors", []))
    print(f"slither: {total} findings, {total - len(open_findings)} with a reason, {len(open_findings)} open")
    sys.exit(1 if open_findings or stale else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
