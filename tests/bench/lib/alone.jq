# Adds how long the API server alone would have taken for the requests of a row, by the calibration of the same run.
. as $row
| ($all | map(select(.row == "calibrate" and .cluster == $row.cluster)) | .[0].rates) as $rates
| if $rates == null or $row.requests == null then . else
    . + {alone_s: ([.requests | to_entries[] | select($rates[.key]) | .value / $rates[.key]] | add // 0)}
  end
