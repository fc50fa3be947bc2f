# shellcheck shell=bash
#
# Certificates, keys and stores for scripts/kafka, which sources this file. All are made by
# the JDK's keytool, once on a machine; only the PEM forms, which keytool cannot write, are
# made of its stores by openssl.

# Uses of the caller: CACHE, JAVA, die, say.

readonly STORE_SECRET=store-secret # of every store, and of a key in PKCS12
readonly KEY_SECRET=key-secret     # of the key in client.keystore.jks, and of client-encrypted.pem

# keytool ARG ...: a JVM that starts quickly; what it says matters only if it fails.
keytool() {
  local out
  out=$("${JAVA%/java}/keytool" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -J-Xshare:auto \
    "$@" -noprompt </dev/null 2>&1) || {
    echo "$out" >&2
    return 1
  }
}

# key NAME SUBJECT SIGNER [ARG ...]: a key and its certificate in the workshop's store; without
# a signer it is a certificate authority.
key() {
  local name=$1 subject=$2 signer=$3
  shift 3
  if [ -n "$signer" ]; then set -- -signer "$signer" -signerkeypass "$STORE_SECRET" "$@"; else set -- -ext bc:c "$@"; fi
  keytool -genkeypair -alias "$name" -dname "$subject" -keyalg EC -groupname secp256r1 \
    -keystore all.p12 -storetype PKCS12 -storepass "$STORE_SECRET" -validity 3650 "$@"
}

# take NAME FILE TYPE KEY_SECRET: copies a key with its chain into a store of its own.
take() {
  keytool -importkeystore -srckeystore all.p12 -srcstoretype PKCS12 -srcstorepass "$STORE_SECRET" \
    -srcalias "$1" -destkeystore "$2" -deststoretype "$3" -deststorepass "$STORE_SECRET" -destkeypass "$4"
}

# trust NAME FILE TYPE: a store that trusts the authority of NAME.pem.
trust() {
  keytool -importcert -alias "$1" -file "$1.pem" -keystore "$2" -storetype "$3" -storepass "$STORE_SECRET"
}

# pem STORE KEY_ARG ...: its key, as openssl pkcs8 writes it, and the chain.
pem() {
  local store=$1
  shift
  openssl pkcs12 -in "$store" -passin "pass:$STORE_SECRET" -nocerts -nodes 2>/dev/null | openssl pkcs8 -topk8 "$@"
  openssl pkcs12 -in "$store" -passin "pass:$STORE_SECRET" -nokeys 2>/dev/null | sed -n '/-BEGIN/,/-END/p'
}

# make_keys NAMES: into the current folder. NAMES are the broker's, as keytool's -ext san= takes them.
make_keys() {
  local past=(-startdate -3d -validity 1)
  # A store is one file, so what goes into it is made one after the other.
  key ca 'CN=kt test authority' '' &&
    key foreign 'CN=somebody else' '' &&
    key broker CN=broker ca -ext "san=$1" &&
    key broker-expired CN=broker ca -ext "san=$1" "${past[@]}" &&
    key broker-elsewhere CN=broker ca -ext san=dns:elsewhere.invalid &&
    key client CN=admin ca &&
    key client-expired CN=admin ca "${past[@]}" &&
    key client-foreign CN=admin foreign &&
    key reader CN=reader ca || return 1
  local name jobs=()
  for name in ca foreign; do
    keytool -exportcert -rfc -alias "$name" -file "$name.crlf" -keystore all.p12 -storepass "$STORE_SECRET" &&
      tr -d '\r' <"$name.crlf" >"$name.pem" && rm "$name.crlf" || return 1
  done
  for name in broker broker-expired broker-elsewhere client client-expired client-foreign reader; do
    take "$name" "$name.keystore.p12" PKCS12 "$STORE_SECRET" &
    jobs+=($!)
  done
  take client client.keystore.jks JKS "$KEY_SECRET" &
  jobs+=($!)
  trust ca truststore.jks JKS &
  jobs+=($!)
  trust ca truststore.p12 PKCS12 &
  jobs+=($!)
  trust foreign foreign.truststore.p12 PKCS12 &
  jobs+=($!)
  for name in "${jobs[@]}"; do wait "$name" || return 1; done
  rm all.p12
  pem client.keystore.p12 -nocrypt >client.pem &&
    pem broker.keystore.p12 -nocrypt >broker.pem &&
    # Kafka's own client reads no other encryption of a key before Java 19.
    pem client.keystore.p12 -v1 PBE-SHA1-3DES -passout "pass:$KEY_SECRET" >client-encrypted.pem
}

# copy_keys FOLDER [HOST]: the keys for brokers at 127.0.0.1, localhost and HOST, made if the
# machine has none yet. They are the same for every cluster on it.
copy_keys() {
  local home="$CACHE/keys-1${2:+-$2}" new names=dns:localhost,ip:127.0.0.1
  if [ ! -d "$home" ]; then
    case "${2:-}" in
      '') ;;
      *[!0-9.]*) names="$names,dns:$2" ;;
      *) names="$names,ip:$2" ;;
    esac
    say "making keys in $home"
    new="$home.new.$$"
    mkdir -p "$new"
    if ! (umask 077 && cd "$new" && make_keys "$names"); then
      rm -rf "$new"
      die "keytool could not make the keys, see above"
    fi
    if [ -d "$home" ] || ! mv "$new" "$home" 2>/dev/null; then rm -rf "$new"; fi
  fi
  cp -p "$home"/* "$1"
}
