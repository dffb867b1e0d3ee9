#!/bin/bash
# As the official image does it: make the cluster, run the scripts on a server that listens on its socket alone, then
# start the real one.
set -Eeo pipefail
if [ "$(id -u)" = 0 ]; then
  install -d -o postgres -g postgres -m 0700 "$PGDATA"
  install -d -o postgres -g postgres /var/run/postgresql
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  eval "initdb --username=postgres --pwfile=<(printf '%s\n' \"$POSTGRES_PASSWORD\") $POSTGRES_INITDB_ARGS"
  printf '\nhost all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
  export PGUSER=postgres PGPASSWORD=$POSTGRES_PASSWORD
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -p 5432" -w start
  for script in /docker-entrypoint-initdb.d/*.sh; do
    # shellcheck source=/dev/null
    if [ -x "$script" ]; then "$script"; else . "$script"; fi
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
  unset PGUSER PGPASSWORD
fi
exec "$@"
