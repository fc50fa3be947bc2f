# shellcheck shell=bash
#
# scripts/kafka up --security KIND: what the CLIENT listener is then, who may do what, and the
# files for clients. scripts/kafka sources this file; it uses its CLUSTER, DIR, state, die, ...
#
# Beside CLIENT each broker has a PLAINTEXT listener called LOCAL, on loopback only, at its
# port + 2. By it the script asks whether the broker is up, and the brokers talk with each other.
# Who comes there is User:ANONYMOUS and may do all. With TLS there are two more listeners, for
# clients that have to refuse them: EXPIRED (port + 3), whose certificate has expired, and
# ELSEWHERE (port + 4), whose certificate is for another name. The first broker's port + 5 is the
# token server's or the KDC's.

readonly REALM=KT.TEST
readonly SECURITY_KINDS="tls mtls scram sasl-ssl oauth kerberos"

check_security() {
  case " $SECURITY_KINDS " in
    *" $1 "*) ;;
    *) misuse "--security is one of: $SECURITY_KINDS; not $1" ;;
  esac
}

has_tls() { case "$1" in tls | mtls | sasl-ssl | oauth) return 0 ;; *) return 1 ;; esac; }

# security_protocol KIND: of the CLIENT listener.
security_protocol() {
  case "$1" in
    '') echo PLAINTEXT ;;
    tls | mtls) echo SSL ;;
    scram | kerberos) echo SASL_PLAINTEXT ;;
    sasl-ssl | oauth) echo SASL_SSL ;;
  esac
}

# security_ports KIND ID PORT: those that broker ID needs beside its own two.
security_ports() {
  local port
  port=$(broker_port "$2" "$3")
  [ -z "$1" ] || echo $((port + 2))
  ! has_tls "$1" || echo $((port + 3)) $((port + 4))
  case "$1,$2" in oauth,1 | kerberos,1) echo $((port + 5)) ;; esac
}

helper_port() { echo $(($(state port) + 5)); }

# plain_port ID: where a broker can be asked without any security.
plain_port() {
  local port
  port=$(broker_port "$1" "$(state port)")
  if [ -z "$(state security)" ]; then echo "$port"; else echo $((port + 2)); fi
}

# security_host KIND: by which name clients reach the brokers, if nothing else was asked for. A
# Kerberos ticket is for a name, and Java makes one of an address by itself.
security_host() { if [ "$1" = kerberos ]; then echo localhost; else echo 127.0.0.1; fi; }

# need_security KIND: what the machine has to have for it.
need_security() {
  ! has_tls "$1" || "$ROOT/scripts/check-tools" --install openssl >&2 || die "--security $1 needs openssl"
  case "$1" in
    oauth) "$ROOT/scripts/check-tools" --install go >&2 || die "the token server of --security oauth is built with Go" ;;
    kerberos)
      PATH="$PATH:/usr/sbin"
      "$ROOT/scripts/check-tools" --install kdc >&2 && command -v krb5kdc >/dev/null ||
        die "--security kerberos needs MIT's KDC: krb5kdc, kdb5_util, kadmin.local, kinit" ;;
  esac
}

# jaas MODULE [OPTION=VALUE ...]: a line as sasl.jaas.config takes it. Values hold no quotes.
jaas() {
  local module=$1 option line=''
  shift
  for option in "$@"; do line="$line ${option%%=*}=\"${option#*=}\""; done
  case "$module" in
    Krb5) module=com.sun.security.auth.module.Krb5LoginModule ;;
    Plain) module=org.apache.kafka.common.security.plain.PlainLoginModule ;;
    Scram) module=org.apache.kafka.common.security.scram.ScramLoginModule ;;
    OAuth) module=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule ;;
  esac
  echo "$module required$line;"
}

# --- brokers -----------------------------------------------------------------

# security_properties KIND ID PORT LISTEN: lines of server.properties, over those for plain text.
security_properties() {
  local kind=$1 port host bind=127.0.0.1 listeners advertised map
  [ -n "$kind" ] || return 0
  port=$(broker_port "$2" "$3")
  host=${4:-$(security_host "$kind")}
  [ -z "$4" ] || bind=0.0.0.0
  listeners="CLIENT://$bind:$port,LOCAL://127.0.0.1:$((port + 2))"
  advertised="CLIENT://$host:$port,LOCAL://127.0.0.1:$((port + 2))"
  map="CLIENT:$(security_protocol "$kind"),CONTROLLER:PLAINTEXT,LOCAL:PLAINTEXT"
  if has_tls "$kind"; then
    listeners="$listeners,EXPIRED://127.0.0.1:$((port + 3)),ELSEWHERE://127.0.0.1:$((port + 4))"
    advertised="$advertised,EXPIRED://127.0.0.1:$((port + 3)),ELSEWHERE://127.0.0.1:$((port + 4))"
    map="$map,EXPIRED:SSL,ELSEWHERE:SSL"
    echo
    server_store client broker
    server_store expired broker-expired
    server_store elsewhere broker-elsewhere
  fi
  cat <<END

listeners=$listeners,CONTROLLER://127.0.0.1:$(controller_port "$2" "$3")
advertised.listeners=$advertised
listener.security.protocol.map=$map
inter.broker.listener.name=LOCAL

$(kind_properties "$kind" "$host")
END
  # Everybody who comes by TLS without a certificate is User:ANONYMOUS.
  [ "$kind" = tls ] || cat <<'END'
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:admin;User:CN=admin;User:brief
END
}

# server_store LISTENER NAME: the certificate of a listener.
server_store() {
  cat <<END
listener.name.$1.ssl.keystore.type=PKCS12
listener.name.$1.ssl.keystore.location=$DIR/$2.keystore.p12
listener.name.$1.ssl.keystore.password=$STORE_SECRET
END
}

# kind_properties KIND HOST: how the CLIENT listener asks who is there.
kind_properties() {
  local l=listener.name.client
  case "$1" in
    mtls) cat <<END ;;
$l.ssl.client.auth=required
$l.ssl.truststore.type=PEM
$l.ssl.truststore.location=$DIR/ca.pem
END
    scram) cat <<END ;;
$l.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512
$l.scram-sha-256.sasl.jaas.config=$(jaas Scram)
$l.scram-sha-512.sasl.jaas.config=$(jaas Scram)
END
    sasl-ssl) cat <<END ;;
$l.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
$l.plain.sasl.jaas.config=$(jaas Plain user_admin=admin-secret user_reader=reader-secret)
$l.scram-sha-512.sasl.jaas.config=$(jaas Scram)
END
    oauth) cat <<END ;;
$l.sasl.enabled.mechanisms=OAUTHBEARER
$l.oauthbearer.sasl.jaas.config=$(jaas OAuth)
$l.oauthbearer.sasl.server.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler
$l.oauthbearer.sasl.oauthbearer.jwks.endpoint.url=file://$DIR/jwks.json
$l.oauthbearer.sasl.oauthbearer.expected.issuer=kt-test
$l.oauthbearer.sasl.oauthbearer.expected.audience=kafka
# Without it a connection outlives its token.
$l.oauthbearer.connections.max.reauth.ms=3600000
END
    kerberos) cat <<END ;;
$l.sasl.enabled.mechanisms=GSSAPI
$l.sasl.kerberos.service.name=kafka
$l.gssapi.sasl.jaas.config=$(jaas Krb5 useKeyTab=true storeKey=true "keyTab=$DIR/broker.keytab" "principal=kafka/$2@$REALM")
END
  esac
}

# Sets FORMAT_ARGS: the users that are there from the start. A password may be changed later:
# kafka-configs --alter --entity-type users --entity-name admin --add-config 'SCRAM-SHA-512=[password=new]'
security_format_args() {
  local user mechanism mechanisms=''
  FORMAT_ARGS=()
  case "$1" in
    scram) mechanisms="SCRAM-SHA-256 SCRAM-SHA-512" ;;
    sasl-ssl) mechanisms="SCRAM-SHA-512" ;;
  esac
  for mechanism in $mechanisms; do
    for user in admin reader; do
      FORMAT_ARGS+=(--add-scram "$mechanism=[name=$user,password=$user-secret]")
    done
  done
}

# security_flags KIND: sets SECURITY_FLAGS, which brokers and Kafka's tools need.
# shellcheck disable=SC2034 # scripts/kafka uses it
security_flags() {
  SECURITY_FLAGS=()
  case "$1" in
    oauth)
      # Since 4.0 Kafka asks only addresses for tokens that its process was told of.
      SECURITY_FLAGS=("-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=$(token_url),file://$DIR/jwks.json") ;;
    kerberos) SECURITY_FLAGS=("-Djava.security.krb5.conf=$DIR/krb5.conf") ;;
  esac
}

# prepare_security KIND LISTEN: what has to be there before the first broker starts.
prepare_security() {
  [ -z "$1" ] || chmod 700 "$DIR"
  ! has_tls "$1" || copy_keys "$DIR" "$2"
  case "$1" in
    oauth) start_tokens ;;
    kerberos) start_kdc "${2:-$(security_host "$1")}" ;;
  esac
  (umask 077 && write_clients "$1")
}

# --- the token server and the KDC ----------------------------------------------

token_url() { echo "https://127.0.0.1:$(helper_port)/token"; }

# start_helper COMMAND ARG ...: in the background, for as long as the cluster is there. One of
# its words names a file in DIR, by which end_helper knows it.
start_helper() {
  (
    set -m
    nohup "$@" </dev/null >>"$DIR/helper.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    echo $! >"$DIR/helper.pid"
  )
  local end=$((SECONDS + 10))
  until port_is_open "$(helper_port)"; do
    if ! helper_pid >/dev/null || [ "$SECONDS" -ge "$end" ]; then
      cat "$DIR/helper.log" >&2
      die "$1 does not listen at port $(helper_port), see above"
    fi
    sleep 0.1
  done
}

# helper_pid: prints the pid of the helper, or fails if it does not run.
helper_pid() {
  local pid
  pid=$(cat "$DIR/helper.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
  ps -ww -o command= -p "$pid" 2>/dev/null | grep -F -e "$DIR/" >/dev/null || return 1
  echo "$pid"
}

end_helper() {
  local pid
  ! pid=$(helper_pid) || kill "$pid" 2>/dev/null || true
}

start_tokens() {
  (cd "$ROOT" && CGO_ENABLED=0 go -C scripts build -trimpath -o "$DIR/tokens" ./tokens) >&2 ||
    die "could not build scripts/tokens, see above"
  start_helper "$DIR/tokens" --listen "127.0.0.1:$(helper_port)" --pair "$DIR/broker.pem" --jwks "$DIR/jwks.json"
}

# start_kdc HOST: a realm of its own, with keytabs for brokers at HOST, admin and reader.
start_kdc() {
  local port
  port=$(helper_port)
  cat >"$DIR/krb5.conf" <<END
[libdefaults]
  default_realm = $REALM
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  default_ccache_name = FILE:$DIR/ticket

[realms]
  $REALM = {
    kdc = 127.0.0.1:$port
  }
END
  cat >"$DIR/kdc.conf" <<END
[kdcdefaults]
  kdc_listen = 127.0.0.1:$port
  kdc_tcp_listen = 127.0.0.1:$port

[realms]
  $REALM = {
    database_name = $DIR/principals
    key_stash_file = $DIR/stash
    acl_file = $DIR/kadm5.acl
    default_principal_flags = +preauth
    supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
  }
END
  export KRB5_CONFIG="$DIR/krb5.conf" KRB5_KDC_PROFILE="$DIR/kdc.conf"
  (umask 077 && make_realm "$1") >"$DIR/kdc.log" 2>&1 || {
    cat "$DIR/kdc.log" >&2
    die "could not make the Kerberos realm, see above"
  }
  start_helper krb5kdc -n -P "$DIR/krb5kdc.pid"
  kinit -k -t "$DIR/admin.keytab" -c "$DIR/ticket" "admin@$REALM" >&2 || die "no ticket from the KDC"
}

# make_realm HOST. A key in a keytab is a new one, so stale.keytab holds one that counts no more.
make_realm() {
  kdb5_util create -s -r "$REALM" -P "$STORE_SECRET" || return 1
  kadmin.local -r "$REALM" <<END
addprinc -randkey kafka/$1
addprinc -randkey admin
addprinc -randkey reader
ktadd -k $DIR/broker.keytab kafka/$1
ktadd -k $DIR/reader.keytab reader
ktadd -k $DIR/stale.keytab admin
ktadd -k $DIR/admin.keytab admin
END
  [ -s "$DIR/broker.keytab" ] && [ -s "$DIR/admin.keytab" ] && [ -s "$DIR/reader.keytab" ]
}

# --- files for clients ---------------------------------------------------------

client_path() { echo "$DIR/client${1:+-$1}.properties"; }

# bootstrap_at OFFSET: the brokers' other listeners.
bootstrap_at() {
  local id list=''
  for id in $(broker_ids); do list="$list,127.0.0.1:$(($(broker_port "$id" "$(state port)") + $1))"; done
  echo "${list#,}"
}

# variant WHICH [KEY=VALUE|-KEY ...]: client.properties with some properties changed or left out.
variant() {
  local which=$1 change keys=' '
  shift
  for change in "$@"; do
    change=${change#-}
    keys="$keys${change%%=*} "
  done
  awk -v keys="$keys" '{ key = $0; sub(/=.*/, "", key) } !index(keys, " " key " ")' "$(client_path)" >"$(client_path "$which")"
  for change in "$@"; do
    case "$change" in -*) ;; *) printf '%s\n' "$change" >>"$(client_path "$which")" ;; esac
  done
}

# write_clients KIND: client.properties, which is right, and one for each thing that can be wrong.
write_clients() {
  {
    echo "bootstrap.servers=$(bootstrap)"
    echo "security.protocol=$(security_protocol "$1")"
    ! has_tls "$1" || cat <<END
ssl.truststore.location=$DIR/truststore.jks
ssl.truststore.password=$STORE_SECRET
END
    client_lines "$1"
  } >"$(client_path)"
  [ -n "$1" ] || return 0
  printf '%s\n' "bootstrap.servers=$(bootstrap)" security.protocol=PLAINTEXT >"$(client_path plaintext)"
  ! has_tls "$1" || tls_variants
  case "$1" in
    tls) tls_only_variants ;;
    mtls) mtls_variants ;;
    *) sasl_variants "$1" ;;
  esac
}

# client_lines KIND: what a client says of itself.
client_lines() {
  case "$1" in
    mtls) cat <<END ;;
ssl.keystore.type=PKCS12
ssl.keystore.location=$DIR/client.keystore.p12
ssl.keystore.password=$STORE_SECRET
ssl.key.password=$STORE_SECRET
END
    scram) cat <<END ;;
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=$(jaas Scram username=admin password=admin-secret)
END
    sasl-ssl) cat <<END ;;
sasl.mechanism=PLAIN
sasl.jaas.config=$(jaas Plain username=admin password=admin-secret)
END
    oauth) cat <<END ;;
sasl.mechanism=OAUTHBEARER
sasl.oauthbearer.token.endpoint.url=$(token_url)
sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
sasl.jaas.config=$(oauth_jaas admin admin-secret)
END
    kerberos) cat <<END ;;
sasl.mechanism=GSSAPI
sasl.kerberos.service.name=kafka
sasl.jaas.config=$(keytab_jaas admin.keytab admin)
END
  esac
}

# oauth_jaas [ID SECRET]. The token server's certificate is checked with options of the module.
oauth_jaas() {
  jaas OAuth ${1:+"clientId=$1" "clientSecret=$2" scope=kafka} \
    "ssl.truststore.location=$DIR/truststore.p12" "ssl.truststore.password=$STORE_SECRET" ssl.truststore.type=PKCS12
}

# keytab_jaas KEYTAB USER
keytab_jaas() { jaas Krb5 useKeyTab=true storeKey=true "keyTab=$DIR/$1" "principal=$2@$REALM"; }

# Wrong, or right in another form, wherever there is TLS.
tls_variants() {
  variant expired "bootstrap.servers=$(bootstrap_at 3)"
  variant wrong-host "bootstrap.servers=$(bootstrap_at 4)"
  variant unknown-ca "ssl.truststore.location=$DIR/foreign.truststore.p12"
  variant tls-on-plaintext "bootstrap.servers=$(bootstrap_at 2)"
  variant wrong-store-password ssl.truststore.password=wrong-secret
  variant p12 ssl.truststore.type=PKCS12 "ssl.truststore.location=$DIR/truststore.p12"
  variant pem ssl.truststore.type=PEM "ssl.truststore.location=$DIR/ca.pem" -ssl.truststore.password
}

tls_only_variants() {
  variant any-host "bootstrap.servers=$(bootstrap_at 4)" ssl.endpoint.identification.algorithm=
  variant wrong-mechanism security.protocol=SASL_SSL sasl.mechanism=PLAIN \
    "sasl.jaas.config=$(jaas Plain username=admin password=admin-secret)"
}

mtls_variants() {
  local pem=(ssl.truststore.type=PEM "ssl.truststore.location=$DIR/ca.pem" -ssl.truststore.password ssl.keystore.type=PEM -ssl.keystore.password)
  variant jks ssl.keystore.type=JKS "ssl.keystore.location=$DIR/client.keystore.jks" "ssl.key.password=$KEY_SECRET"
  variant pem "${pem[@]}" "ssl.keystore.location=$DIR/client.pem" -ssl.key.password
  variant encrypted "${pem[@]}" "ssl.keystore.location=$DIR/client-encrypted.pem" "ssl.key.password=$KEY_SECRET"
  variant inline ssl.truststore.type=PEM ssl.keystore.type=PEM "ssl.truststore.certificates=$(one_line CERTIFICATE ca.pem)" \
    "ssl.keystore.certificate.chain=$(one_line CERTIFICATE client.pem)" "ssl.keystore.key=$(one_line 'PRIVATE KEY' client.pem)" \
    -ssl.truststore.location -ssl.truststore.password -ssl.keystore.location -ssl.keystore.password -ssl.key.password
  variant reader "ssl.keystore.location=$DIR/reader.keystore.p12"
  variant no-key -ssl.keystore.type -ssl.keystore.location -ssl.keystore.password -ssl.key.password
  variant expired-key "ssl.keystore.location=$DIR/client-expired.keystore.p12"
  variant foreign-key "ssl.keystore.location=$DIR/client-foreign.keystore.p12"
  variant wrong-password ssl.keystore.password=wrong-secret ssl.key.password=wrong-secret
}

# one_line WHAT FILE: the PEM blocks of that kind as the value of a property.
one_line() { awk -v what="$1" '$0 ~ "-BEGIN " what { on = 1 } on { printf "%s\\n", $0 } $0 ~ "-END " what { on = 0 }' "$DIR/$2"; }

sasl_variants() {
  local plain scram256
  plain=$(jaas Plain username=admin password=admin-secret)
  scram256=$(jaas Scram username=admin password=admin-secret)
  has_tls "$1" || {
    variant tls-on-plaintext security.protocol=SASL_SSL
  }
  case "$1" in
    scram)
      variant scram-256 sasl.mechanism=SCRAM-SHA-256
      variant reader "sasl.jaas.config=$(jaas Scram username=reader password=reader-secret)"
      variant wrong-password "sasl.jaas.config=$(jaas Scram username=admin password=wrong-secret)"
      variant wrong-mechanism sasl.mechanism=PLAIN "sasl.jaas.config=$plain" ;;
    sasl-ssl)
      variant scram-512 sasl.mechanism=SCRAM-SHA-512 "sasl.jaas.config=$scram256"
      variant reader "sasl.jaas.config=$(jaas Plain username=reader password=reader-secret)"
      variant wrong-password "sasl.jaas.config=$(jaas Plain username=admin password=wrong-secret)"
      variant wrong-mechanism sasl.mechanism=SCRAM-SHA-256 "sasl.jaas.config=$scram256" ;;
    oauth)
      variant reader "sasl.jaas.config=$(oauth_jaas reader reader-secret)"
      # Since 4.1 there are properties for it, and Kafka's tools warn of the module's options.
      variant new-names "sasl.jaas.config=$(oauth_jaas)" sasl.oauthbearer.client.credentials.client.id=admin \
        sasl.oauthbearer.client.credentials.client.secret=admin-secret sasl.oauthbearer.scope=kafka
      variant brief "sasl.jaas.config=$(oauth_jaas brief brief-secret)"
      variant wrong-password "sasl.jaas.config=$(oauth_jaas admin wrong-secret)"
      variant wrong-mechanism sasl.mechanism=PLAIN "sasl.jaas.config=$plain" -sasl.login.callback.handler.class \
        -sasl.oauthbearer.token.endpoint.url ;;
    kerberos)
      variant ticket "sasl.jaas.config=$(jaas Krb5 useTicketCache=true "ticketCache=$DIR/ticket" doNotPrompt=true "principal=admin@$REALM")"
      variant reader "sasl.jaas.config=$(keytab_jaas reader.keytab reader)"
      variant wrong-password "sasl.jaas.config=$(keytab_jaas stale.keytab admin)"
      variant wrong-service sasl.kerberos.service.name=elsewhere
      variant wrong-mechanism sasl.mechanism=PLAIN "sasl.jaas.config=$plain" -sasl.kerberos.service.name ;;
  esac
}

# client_config [WHICH]: its path, or the names that there are.
client_config() {
  local path
  path=$(client_path "$1")
  [ -f "$path" ] || die "cluster $CLUSTER has no client-$1.properties, but:" \
    "$(cd "$DIR" && for path in client-*.properties; do path=${path#client-}; printf '%s ' "${path%.properties}"; done)"
  echo "$path"
}
