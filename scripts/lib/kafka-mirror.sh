# shellcheck shell=bash
#
# MirrorMaker 2 between two clusters of scripts/kafka, which sources this file.

# Uses of the caller: CACHE, BASE, DIR, CLUSTER, LOGGING, JAVA, JVM_FLAGS, say, die, misuse, state, marked_pid, plain_port.

# need_mirror VERSION: adds its two jars to CLASSPATH_ARG, behind those of the archive of classes.
need_mirror() {
  local home="$CACHE/kafka-$1/mirror" new artifact
  if [ ! -d "$home" ]; then
    need_maven
    say "fetching MirrorMaker 2 of Kafka $1 into $home"
    new="$home.new.$$"
    for artifact in connect-mirror connect-mirror-client; do
      maven dependency:copy -DoutputDirectory="$new" -Dartifact="org.apache.kafka:$artifact:$1" || {
        rm -rf "$new"
        die "Maven could not fetch $artifact $1 (its own words are above); run scripts/kafka fetch where there is a network"
      }
    done
    if [ -d "$home" ] || ! mv "$new" "$home" 2>/dev/null; then rm -rf "$new"; fi # another one fetched it meanwhile
  fi
  CLASSPATH_ARG="$CLASSPATH_ARG:$home/*"
}

# mirror_pid FOLDER: the pid of the MirrorMaker 2 of that folder, or fails.
mirror_pid() { marked_pid "$1/pid" "-Dkt.kafka.mirror=$1"; }

# end_mirrors: kills those from and to the selected cluster.
end_mirrors() {
  local dir pid
  for dir in "$DIR"/mirror-to-* "$BASE"/*/mirror-to-"$CLUSTER"; do
    if pid=$(mirror_pid "$dir"); then kill -KILL "$pid" 2>/dev/null || true; fi
  done
}

# mirror_properties SOURCE TARGET TOPICS PROPERTIES. The defaults of Kafka look for topics each ten minutes, commit each minute
# how far they are, and let five minutes pass before another process takes over the tasks of one that was killed.
mirror_properties() {
  local from to
  from=$(select_cluster "$1" && plain_port 1)
  to=$(select_cluster "$2" && plain_port 1)
  cat <<END
clusters=$1,$2
$1.bootstrap.servers=127.0.0.1:$from
$2.bootstrap.servers=127.0.0.1:$to
$1->$2.enabled=true
$1->$2.topics=$3
replication.factor=-1
offset-syncs.topic.replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
offset.storage.partitions=1
status.storage.partitions=1
refresh.topics.interval.seconds=2
$2.offset.flush.interval.ms=5000
$2.scheduled.rebalance.max.delay.ms=0
plugin.discovery=service_load
$2.plugin.discovery=service_load
$2.session.timeout.ms=6000
$2.heartbeat.interval.ms=1500
emit.heartbeats.enabled=false
emit.checkpoints.enabled=false

# from --property; of two lines with the same key the last one counts
$4
END
}

cmd_mirror() {
  local what=${1:-} from='' to='' topics='[^.].*' properties='' dir pid
  [ $# = 0 ] || shift
  while [ $# -gt 0 ]; do
    has_value "$1" $#
    case "$1 $2" in
      '--name '*) from=$2 ;;
      '--to '*) to=$2 ;;
      '--topics '*) topics=$2 ;;
      '--property '[!=]*=*) properties="$properties$2"$'\n' ;;
      *) misuse "mirror: unknown argument $1 $2" ;;
    esac
    shift 2
  done
  if [ -z "$from" ] || [ -z "$to" ]; then misuse "mirror wants --name, the cluster to copy from, and --to, the one to copy to"; fi
  select_cluster "$to"
  need_cluster
  select_cluster "$from"
  need_cluster
  dir="$DIR/mirror-to-$to"
  case "$what" in
    start) ;;
    kill | stop)
      pid=$(mirror_pid "$dir") || die "no MirrorMaker 2 copies from $from to $to"
      if [ "$what" = kill ]; then kill -KILL "$pid"; else kill -TERM "$pid"; fi
      while mirror_pid "$dir" >/dev/null; do sleep 0.1; done
      return 0 ;;
    logs)
      cat "$dir/log"
      return 0 ;;
    *) misuse "mirror start, kill, stop or logs, not '$what'" ;;
  esac
  ! mirror_pid "$dir" >/dev/null || die "a MirrorMaker 2 copies from $from to $to already"
  need_java
  need_jars "$(state version)"
  need_archive "$(state version)"
  need_mirror "$(state version)"
  mkdir -p "$dir"
  # One that is started again goes on with what it was given first.
  [ -f "$dir/properties" ] && [ -z "$properties" ] || mirror_properties "$from" "$to" "$topics" "$properties" >"$dir/properties"
  : >"$dir/log"
  (
    set -m
    # shellcheck disable=SC2086 # flags are meant to be split
    nohup "$JAVA" ${KT_KAFKA_MIRROR_HEAP:--Xmx256m} $JVM_FLAGS ${ARCHIVE_FLAGS[@]+"${ARCHIVE_FLAGS[@]}"} \
      -Dlog4j2.configurationFile="$LOGGING" -Dkt.kafka.log.level=INFO \
      "-Dkt.kafka.mirror=$dir" -cp "$CLASSPATH_ARG" org.apache.kafka.connect.mirror.MirrorMaker "$dir/properties" --clusters "$to" \
      </dev/null >>"$dir/log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    echo $! >"$dir/pid"
  )
  await_exec "$dir/pid" mirror_pid "$dir"
  await_mirror "$dir"
}

# await_mirror FOLDER: until its connectors are started.
await_mirror() {
  local end=$((SECONDS + READY_SECONDS))
  until grep -q 'Started MirrorSourceConnector\|task-thread-MirrorSourceConnector' "$1/log"; do
    if ! mirror_pid "$1" >/dev/null || [ "$SECONDS" -ge "$end" ]; then
      tail -n 30 "$1/log" >&2
      die "MirrorMaker 2 does not copy, see above"
    fi
    sleep 0.2
  done
}
