#!/usr/bin/env bash
# A Spark cluster on this machine: a master and two workers of a core each, on loopback, until
# it is interrupted. The workers run Python where dbt does.
#
#     scripts/cluster.sh [PORT]      the master's port, 7077; the workers' files are in .spark/work
set -euo pipefail
cd "$(dirname "$0")/.."

export SPARK_LOCAL_IP=127.0.0.1
export PYSPARK_PYTHON=${PYTHON:-$PWD/.venv/bin/python}
JAVA_HOME=$("$PYSPARK_PYTHON" -m dbt_secure_spark.java)
export JAVA_HOME
home=$("$PYSPARK_PYTHON" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
port=${1:-7077}
work=${CLUSTER_FOLDER:-$PWD/.spark/work}

trap 'kill $(jobs -p)' EXIT
# Not on the next port, if somebody else has this one.
export SPARK_DAEMON_JAVA_OPTS=-Dspark.port.maxRetries=0
of=org.apache.spark.deploy
"$home/bin/spark-class" $of.master.Master --host 127.0.0.1 --port "$port" --webui-port 0 &
for _ in 1 2; do
    "$home/bin/spark-class" $of.worker.Worker --host 127.0.0.1 --webui-port 0 \
        -c 1 -m 1g -d "$work" "spark://127.0.0.1:$port" &
done
# One that ends, as a master whose port is taken, ends the others.
wait -n
