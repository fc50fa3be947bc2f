# Makes the JSON schema of one kind out of Kubernetes' OpenAPI document:
#   jq -cf reduce.jq --arg kind io.k8s.api.batch.v1.Job apis__batch__v1_openapi.json > job-batch-v1.json
# The documents are in openapi/openapitest/testdata of the module k8s.io/client-go, here v0.34.1.
# It drops what validates nothing, kinds of volumes and other parts that kt does not use, and
# status. An object with an unknown field is an error.
def unused: ["status", "affinity", "ephemeralContainers", "lifecycle", "podFailurePolicy", "successPolicy", "managedFields",
  "ownerReferences", "livenessProbe", "readinessProbe", "valueFrom", "envFrom", "resizePolicy", "restartPolicyRules",
  "resourceClaims", "windowsOptions", "seLinuxOptions", "appArmorProfile", "dnsConfig", "hostAliases", "readinessGates",
  "schedulingGates", "volumeDevices", "exec", "grpc", "httpGet", "tolerations", "awsElasticBlockStore", "azureDisk", "azureFile",
  "cephfs", "cinder", "configMap", "csi", "downwardAPI", "ephemeral", "fc", "flexVolume", "flocker", "gcePersistentDisk",
  "gitRepo", "glusterfs", "hostPath", "iscsi", "nfs", "persistentVolumeClaim", "photonPersistentDisk",
  "portworxVolume", "projected", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume", "volumeClaimTemplates"];
def plain:
  if type == "object" then
    (if (.allOf? | type) == "array" and (.allOf | length) == 1 then (del(.allOf) + .allOf[0]) else . end)
    | with_entries(select(.key | IN("description", "default") or startswith("x-kubernetes-") | not))
    | if .properties? then .properties |= with_entries(select(.key as $k | unused | index($k) | not)) | .additionalProperties = false else . end
    | if ."$ref"? then ."$ref" |= sub("#/components/schemas/"; "#/definitions/") else . end
    | with_entries(.value |= plain)
  elif type == "array" then map(plain) else . end;
def refs: [.. | objects | ."$ref"? // empty | ltrimstr("#/definitions/")] | unique;
def reached($all; $found):
  ([$found[] | $all[.] | refs[]] + $found | unique) as $next
  | if $next == $found then $found else reached($all; $next) end;
(.components.schemas | map_values(plain)) as $all
| reached($all; [$kind]) as $names
| $all[$kind] + {definitions: ([$names[] | {key: ., value: $all[.]}] | from_entries)}
