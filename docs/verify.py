"""Verifies an exported ledger with nothing but Python: python3 verify.py FILE.ndjson"""

import hashlib
import json
import sys


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
    header, *records = [json.loads(line) for line in file if line.strip()]
prev = sha256(f"counterstep-ledger:{header['tenant']}/{header['sagaId']}")
for seq, record in enumerate(records, 1):
    numbered = record["seq"] == seq == json.loads(record["body"])["seq"]
    if not (numbered and record["prev"] == prev and record["hash"] == sha256(prev + record["body"])):
        sys.exit(f"invalid at record {seq}")
    prev = record["hash"]
head = {"seq": len(records), "hash": prev}
if header.get("head", head) != head:
    sys.exit(f"invalid: the export ended at record {header['head']['seq']}, not at {len(records)}")
print(f"valid up to record {len(records)}, hash {prev}")
