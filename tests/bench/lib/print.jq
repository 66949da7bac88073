# One line of the table from the figures of one row.
def round($digits): if . == null then "" else . as $x | pow(10; $digits) as $p | ($x * $p | round) / $p end;
"| \(.cluster) | \(.row) \(.frameworks)×\(.tasks) | \(.wall_s | round(2)) | \(.cpu_s | round(2)) | \(.peak_pss_mb | round(1))"
+ " | \(if .status_writes then .status_writes / .frameworks | round(2) else "" end) | \(.reads) | \(.rounds)"
+ " | \(.sent_mb | round(1)), \(.received_mb | round(1)) | \(.more // "") |"
