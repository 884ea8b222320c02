"""Verifies an exported ledger with nothing but Python: python3 verify.py FILE.ndjson"""

import hashlib
import json
import sys


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def verify(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    if not lines:
        sys.exit(f"invalid: {path} is empty")
    header, *records = lines
    if header.get("format") != "counterstep-ledger":
        sys.exit("invalid: the first line is not the header of an exported ledger")
    prev = sha256(f"counterstep-ledger:{header['tenant']}/{header['sagaId']}")
    for seq, record in enumerate(records, 1):
        numbered = record["seq"] == seq == json.loads(record["body"])["seq"]
        if not (numbered and record["prev"] == prev and record["hash"] == sha256(prev + record["body"])):
            sys.exit(f"invalid at record {seq}")
        prev = record["hash"]
    if not records:
        sys.exit("invalid: the file holds no record")
    head = {"seq": len(records), "hash": prev}
    if header.get("head", head) != head:
        sys.exit(f"invalid: the export ended at record {header['head']['seq']}, not at {len(records)}")
    print(f"valid up to record {len(records)}, hash {prev}")


if len(sys.argv) != 2:
    sys.exit("usage: python3 verify.py FILE.ndjson")
try:
    verify(sys.argv[1])
except OSError as error:
    sys.exit(f"cannot read {sys.argv[1]}: {error.strerror}")
except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
    sys.exit("invalid: a line is not what an export of a ledger holds")
