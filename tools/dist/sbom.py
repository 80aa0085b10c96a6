"""What a release is made from, as a CycloneDX document (JSON, version 1.6).

The crates are those that Cargo resolves for the native module and the agent on Linux, without what
only tests need; the Python packages are those of requirements.txt, which has the hashes of their
files.
The same inputs give the same document: it has no date, and its serial number follows from it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from tools.dist.source import resolved

Json: TypeAlias = Mapping[str, object]
_ROOTS = ("trustbed-py", "trustbed-agent")


def bill(tree: Path, version: str) -> str:
    """The document for the source in a directory."""
    crates = dict(sorted(_crates(tree)))
    python = {one["bom-ref"]: one for one in _python(tree)}
    root = f"pkg:pypi/trustbed@{version}"
    components = [*(one for one, _ in crates.values()), *python.values()]
    depends = {reference: needs for reference, (_, needs) in crates.items()}
    own = [
        reference for reference in crates if re.match(r"pkg:cargo/trustbed-(py|agent)@", reference)
    ]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "trustbed",
                "version": version,
                "purl": root,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": root, "dependsOn": sorted([*own, *map(str, python)])},
            *({"ref": one, "dependsOn": needs} for one, needs in depends.items()),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return json.dumps({"serialNumber": f"urn:uuid:{serial}", **document}, indent=2) + "\n"


def _crates(tree: Path) -> Iterator[tuple[str, tuple[Json, list[str]]]]:
    """Reference → component, and the references of what it needs."""
    checksums = _checksums(tree)
    packages: dict[str, dict[str, object]] = {}
    needs: dict[str, set[str]] = {}
    roots: set[str] = set()
    for said in resolved(tree):
        packages |= {one["id"]: one for one in said["packages"]}
        roots |= {one["id"] for one in said["packages"] if one["name"] in _ROOTS}
        for node in said["resolve"]["nodes"]:
            needs.setdefault(node["id"], set()).update(
                each["pkg"]
                for each in node["deps"]
                if any(kind["kind"] != "dev" for kind in each["dep_kinds"])
            )
    reached, waiting = set(roots), list(roots)
    while waiting:
        for each in needs[waiting.pop()] - reached:
            reached.add(each)
            waiting.append(each)
    references = {
        each: f"pkg:cargo/{packages[each]['name']}@{packages[each]['version']}" for each in reached
    }
    for each in reached:
        package = packages[each]
        component: dict[str, object] = {
            "type": "library",
            "bom-ref": references[each],
            "name": package["name"],
            "version": package["version"],
            "purl": references[each],
        }
        if package["license"]:
            licence = str(package["license"]).replace("/", " OR ")
            component["licenses"] = [{"expression": licence}]
        checksum = checksums.get((str(package["name"]), str(package["version"])))
        if checksum:
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        yield references[each], (component, sorted(references[one] for one in needs[each]))


def _checksums(tree: Path) -> dict[tuple[str, str], str]:
    text = (tree / "Cargo.lock").read_text(encoding="utf-8")
    pattern = r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]+)"'
    return {(name, version): checksum for name, version, checksum in re.findall(pattern, text)}


def _python(tree: Path) -> Iterator[dict[str, object]]:
    text = (tree / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE):
        reference = f"pkg:pypi/{name}@{version}"
        yield {
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": version,
            "purl": reference,
        }
