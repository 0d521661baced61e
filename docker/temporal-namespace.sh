#!/bin/sh
# Creates Cadenza's namespace and search attributes (named in contracts/temporal.ts). Idempotent.
set -eu
# `wait_for WHAT COMMAND…`: until the command succeeds, for two minutes at most.
wait_for() {
  what=$1
  shift
  attempts=0
  until "$@" >/dev/null 2>&1; do
    attempts=$((attempts + 1))
    [ "$attempts" -lt 120 ] || { echo "$what at $TEMPORAL_ADDRESS: waited in vain" >&2; exit 1; }
    sleep 1
  done
}
has_attribute() {
  temporal operator search-attribute list -n "$TEMPORAL_NAMESPACE" | grep -q "$1"
}
ensure_attribute() {
  has_attribute "$1" ||
    temporal operator search-attribute create -n "$TEMPORAL_NAMESPACE" --name "$1" --type Keyword
}

wait_for 'a healthy Temporal' temporal operator cluster health
temporal operator namespace describe -n "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create -n "$TEMPORAL_NAMESPACE" --retention 7d
# All of its services hear of a new namespace, and of a new attribute, within seconds only.
wait_for 'the namespace' temporal operator search-attribute list -n "$TEMPORAL_NAMESPACE"
for attribute in CadenzaOwner CadenzaWorkflow CadenzaStatus; do
  wait_for "the search attribute $attribute" ensure_attribute "$attribute"
  wait_for "the search attribute $attribute" has_attribute "$attribute"
done
