#!/bin/sh
# Runs one of Cadenza's processes as process 1 of its container, so that a stop of the container drains it.
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in
  api) exec node --enable-source-maps api/main.ts ;;
  worker) exec node --enable-source-maps worker/main.ts ;;
  migrate) exec node --enable-source-maps db/migrate.ts ;;
  *)
    echo "usage: api | worker | migrate" >&2
    exit 64
    ;;
esac
