# Prints the objects of N Frameworks that run, made from those of one: multiply.pl NAME N <OBJECTS
#
# OBJECTS has one object of JSON on each line: the Framework NAME, its ConfigMap and its Pods, as the controller has left
# them. The copies differ as real ones do: their names end in a number of as many digits as NAME has at its end, each uid
# and each Pod's address is another one, and their times are further apart by a second each. All objects of one kind come
# together, in the order of their names. The first copy is the original.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use POSIX qw(strftime);
use Time::Local qw(timegm);

my ($name, $count) = @ARGV;
my ($prefix, $digits) = $name =~ /^(.*?)(0+)$/ or die "$name: expected a name that ends in zeros\n";
my $uid = qr/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;
my $time = qr/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/;
my $width = length $digits;
my (%kinds, @order, %ips);
while (my $line = <STDIN>) {
    my ($kind) = $line =~ /"kind":"(Framework|ConfigMap|Pod)"/ or die "line $.: expected a Framework, ConfigMap or Pod\n";
    push @order, $kind unless $kinds{$kind};
    $ips{$_} //= keys %ips for $line =~ /"podIP":"([0-9.]+)"/g;
    push @{$kinds{$kind}}, $line;
}

# Text, and between it what differs, in turns. Each is replaced by a function of the copy's number.
sub holes {
    my ($line) = @_;
    my $ip = join '|', map quotemeta, sort { length $b <=> length $a } keys %ips;
    return split /(\Q$name\E|$uid|$time|"(?:$ip)")/, $line;
}

my %times;
sub value {
    my ($hole, $i) = @_;
    return $hole if $i == 0;
    return sprintf "%s%0${width}d", $prefix, $i if $hole eq $name;
    if ($hole =~ /^"(.*)"$/) {
        my $at = $i * keys(%ips) + $ips{$1};
        return sprintf '"10.%d.%d.%d"', $at >> 16 & 255, $at >> 8 & 255, $at & 255;
    }
    if ($hole =~ /^(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)Z$/) {
        $times{$hole} //= timegm($6, $5, $4, $3, $2 - 1, $1);
        return strftime "%Y-%m-%dT%H:%M:%SZ", gmtime $times{$hole} - $i;
    }
    my $hash = md5_hex("$hole $i");
    return join '-', unpack 'A8 A4 A4 A4 A12', $hash;
}

for my $kind (@order) {
    my @templates = map [holes($_)], sort @{$kinds{$kind}};
    for my $i (0 .. $count - 1) {
        my %values;
        for my $template (@templates) {
            my $at = 0;
            print join '', map { $at++ % 2 ? $values{$_} //= value($_, $i) : $_ } @$template;
        }
    }
}
