# What differs from run to run becomes the same: UIDs UID, times TIME, IPs IP, nodes NODE, the namespace NS, the index
# of the Task that triggered a completion N (whichever of equals came last). Null members count as absent.
def text:
  gsub("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"; "UID")
  | if test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$") then "TIME" else . end
  | gsub("\\b" + $namespace + "\\b"; "NS");

walk(
  if type == "object" then
    with_entries(select(.value != null))
    | del(.resourceVersion, .generation, .managedFields, .conditions, .observedGeneration, .writer)
    | if has("podIP") and .podIP != "" then .podIP = "IP" else . end
    | if has("podHostIP") and .podHostIP != "" then .podHostIP = "IP" else . end
    | if has("podNodeName") and .podNodeName != "" then .podNodeName = "NODE" else . end
    | if has("trigger") then .trigger.taskIndex = "N" else . end
  elif type == "string" then text
  else . end)
