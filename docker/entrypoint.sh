#!/bin/sh
# Runs one Cadenza process as process 1 of its container, so that stopping the container drains it.
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in
  api) exec node --enable-source-maps api/main.ts ;;
  worker) exec node --enable-source-maps worker/main.ts ;;
  sandbox) exec node --enable-source-maps worker/sandbox.ts ;;
  engine-guard) exec node --enable-source-maps worker/engine-guard.ts ;;
  backups) exec node --enable-source-maps dev/server/timetable.ts ;;
  rotate-keys) exec node --enable-source-maps worker/rotate-keys.ts ;;
  server)
    shift
    exec cli/cadenza server "$@"
    ;;
  worker-versions)
    shift
    exec node --enable-source-maps worker/worker-versions.ts "$@"
    ;;
  migrate) exec node --enable-source-maps db/migrate.ts ;;
  *)
    echo "usage: api | worker | sandbox | engine-guard | migrate | backups | rotate-keys | worker-versions | server" >&2
    exit 64
    ;;
esac
