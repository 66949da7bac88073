# Adds how long the API server alone would have taken for the requests of a row, by the calibration of the same run; for
# those and the kubelet's; and how its creation of Pods compares.
. as $row
| ($all | map(select(.row == "calibrate" and .cluster == $row.cluster)) | .[0].rates) as $rates
| if $rates == null or $row.requests == null then . else
    . + {alone_s: ([.requests | to_entries[] | select($rates[.key]) | .value / $rates[.key]] | add // 0)}
    | . + {alone_with_kubelet_s: (.alone_s
        + (.requests["POST pods"] // 0) * (1 / $rates["POST pods/binding"] + 1 / $rates["PATCH pods/status running"])
        + (.requests["DELETE pods"] // 0) / $rates["PATCH pods/status completed"])}
    | if .pods_per_s then . + {creation_percent: (.pods_per_s / $rates["POST pods"] * 100)} else . end
  end
