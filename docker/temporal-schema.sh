#!/bin/sh
# Creates or upgrades Temporal's two databases. Idempotent.
set -eu
prepare() {
  temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_SEEDS" -p 5432 -u "$POSTGRES_USER" --db "$1" create
  temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_SEEDS" -p 5432 -u "$POSTGRES_USER" --db "$1" setup-schema -v 0.0
  temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_SEEDS" -p 5432 -u "$POSTGRES_USER" --db "$1" update-schema -d "/etc/temporal/schema/postgresql/v12/$2/versioned"
}
prepare temporal temporal
prepare temporal_visibility visibility
