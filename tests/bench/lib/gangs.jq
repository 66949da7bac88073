# The rows barrier_* as lines of a table of their own.
def ms: round | tostring;

.[] | select(.release_last_ms) | (.processes[] | select(.name == "barrier")) as $barrier
| "| \(.cluster) | \(.row) \(.frameworks)×\(.tasks) | \($barrier.cpu_s) | \($barrier.peak_pss_mb) | \(.requests["GET frameworks"])"
+ " | \(.release_last_ms | ms) | \(.release_p50_ms | ms), \(.release_p99_ms | ms) | \(.release_mean_ms | ms)"
+ " | \(.echo_p50_ms | ms), \(.echo_p99_ms | ms) | \(.echo_get_p50_ms | ms), \(.echo_get_p99_ms | ms), \(.echo_get_last_ms | ms) |"
