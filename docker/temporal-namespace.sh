#!/bin/sh
# Creates Cadenza's namespace and search attributes (named in contracts/temporal.ts). Idempotent.
set -eu
attempts=0
until temporal operator cluster health >/dev/null 2>&1; do
  attempts=$((attempts + 1))
  [ "$attempts" -lt 60 ] || { echo "Temporal at $TEMPORAL_ADDRESS did not become healthy" >&2; exit 1; }
  sleep 2
done
temporal operator namespace describe -n "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create -n "$TEMPORAL_NAMESPACE" --retention 7d
for attribute in CadenzaOwner CadenzaWorkflow CadenzaStatus; do
  temporal operator search-attribute list -n "$TEMPORAL_NAMESPACE" | grep -q "$attribute" ||
    temporal operator search-attribute create -n "$TEMPORAL_NAMESPACE" --name "$attribute" --type Keyword
done
