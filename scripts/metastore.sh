#!/usr/bin/env bash
# A metastore that serves more than one process: a PostgreSQL server of this project's own,
# on loopback, under .spark/postgresql or in METASTORE_FOLDER. Needs the Debian packages
# postgresql and libpostgresql-jdbc-java; leaves the system's own clusters alone. The
# variable METASTORE_PASSWORD holds the password of its one user.
#
#     scripts/metastore.sh start [PORT]    make it if it is not there, start it (port 5433)
#     scripts/metastore.sh stop
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${METASTORE_FOLDER:-$PWD/.spark/postgresql}
port=${2:-5433}

binaries=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
if [ -z "$binaries" ] || [ ! -e /usr/share/java/postgresql.jar ]; then
    echo "Needed: apt-get install postgresql libpostgresql-jdbc-java" >&2
    exit 1
fi

# PostgreSQL refuses to run as root, as in a container: then it runs as its package's user.
as_owner() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
    else
        "$@"
    fi
}

control() {
    as_owner "$binaries/pg_ctl" --pgdata "$folder/data" --silent "$@"
}

start() {
    local password=${METASTORE_PASSWORD:?set it to a password of your own}
    mkdir -p "$folder"
    [ "$(id -u)" != 0 ] || chown postgres:postgres "$folder"
    if [ ! -e "$folder/data/PG_VERSION" ]; then
        # As a command's input, the password is in no list of processes and in no file.
        printf '%s\n%s\n' "$password" "$password" \
            | as_owner "$binaries/initdb" --pgdata "$folder/data" --username metastore \
                --pwprompt --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8 \
                > "$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; exit 1; }
    fi
    if ! control status > /dev/null; then
        control start --log "$folder/log" --options \
            "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$folder"
    fi
    export PGPASSWORD=$password
    local ask="$binaries/psql --host 127.0.0.1 --port $port --username metastore --quiet"
    if ! $ask --dbname metastore --command "select 1" > /dev/null 2>&1; then
        $ask --dbname postgres --command "create database metastore"
        make_tables
    fi
}

# Hive's own definition of its tables, and the tool for it, come with PySpark. Spark would
# make them as it needs them (autoCreateAll), and wait for itself for ever on PostgreSQL.
make_tables() (
    umask 077
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    python=${PYTHON:-.venv/bin/python}
    java=$("$python" -W ignore -m dbt_secure_spark.java)/bin/java
    jars=$("$python" -c 'import pyspark; print(pyspark.__path__[0])')/jars
    "$python" -m zipfile --extract "$jars"/hive-metastore-*.jar "$work"
    cat > "$work/properties" << END
javax.jdo.PersistenceManagerFactoryClass=org.datanucleus.api.jdo.JDOPersistenceManagerFactory
datanucleus.ConnectionURL=jdbc:postgresql://127.0.0.1:$port/metastore
datanucleus.ConnectionDriverName=org.postgresql.Driver
datanucleus.ConnectionUserName=metastore
datanucleus.ConnectionPassword=$password
datanucleus.connectionPoolingType=None
datanucleus.identifierFactory=datanucleus1
datanucleus.rdbms.useLegacyNativeValueStrategy=true
END
    "$java" -classpath "/usr/share/java/postgresql.jar:$jars/*" \
        org.datanucleus.store.schema.SchemaTool -create -api JDO \
        -props "$work/properties" "$work/package.jdo" > "$work/log" 2>&1 \
        && $ask --dbname metastore --command 'create table "SEQUENCE_TABLE"
            ("SEQUENCE_NAME" varchar(255) primary key, "NEXT_VAL" bigint not null)' \
        || { cat "$work/log" >&2; $ask --dbname postgres --command "drop database metastore"; exit 1; }
)

case ${1:-} in
    start) start ;;
    stop) control stop --mode fast ;;
    *) sed -n '2,9s/^# \?//p' "$0"; exit 2 ;;
esac
