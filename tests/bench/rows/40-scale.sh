# The same work with more reconcilers, and how long the news of a Pod takes until it is in its Framework's status. On
# the embedded API server, which is quick enough not to be the limit at once. Sourced by run.sh.

scale_row() { # workers
    only_on embedded
    setting 1000 5
    workers=$1
    load_row --until running --latency
}
row_scale_1() { scale_row 1; }
row_scale_2() { scale_row 2; }
row_scale_4() { scale_row 4; }
row_scale_8() { scale_row 8; }

# Slow enough for every process: only what the loops gather delays a status.
paced_row() { # workers
    only_on embedded
    setting 500 5
    workers=$1
    load_row --until running --latency --rate 100
}
row_paced_1() { paced_row 1; }
row_paced_4() { paced_row 4; }
row_paced_8() { paced_row 8; }

# All work of one Framework is one reconciler's.
scale_wide_row() { # workers
    only_on embedded
    setting 1 10000
    workers=$1
    more_config='largeFrameworkCompression: true'
    load_row --until running --latency
}
row_scale_wide_1() { scale_wide_row 1; }
row_scale_wide_2() { scale_wide_row 2; }
row_scale_wide_4() { scale_wide_row 4; }
row_scale_wide_8() { scale_wide_row 8; }
