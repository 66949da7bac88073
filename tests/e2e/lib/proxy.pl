#!/usr/bin/perl
# A proxy for tests: HTTP (CONNECT, and GET of a whole address) and SOCKS5 on one port of 127.0.0.1, chosen by the
# kernel and written to the file named. Whatever host is asked for is 127.0.0.1: names are the proxy's to look up. Says a
# line on stdout about each connection.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

$SIG{CHLD} = 'IGNORE';
$| = 1;
my $listener = IO::Socket::INET->new(Listen => 16, LocalAddr => '127.0.0.1') or die "listen: $!\n";
open my $file, '>', "$ARGV[0].new" or die "$ARGV[0]: $!\n";
print $file $listener->sockport, "\n";
close $file;
rename "$ARGV[0].new", $ARGV[0] or die "$ARGV[0]: $!\n";

sub take {
    my ($client, $count) = @_;
    my $text = '';
    while (length $text < $count) {
        sysread $client, $text, $count - length $text, length $text or exit 1;
    }
    return $text;
}

sub connect_to {
    my ($how, $host, $port) = @_;
    print "$how $host:$port\n";
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) || exit 1;
}

# RFC 1928, without authentication.
sub socks {
    my ($client) = @_;
    take($client, ord take($client, 1));
    syswrite $client, "\x05\x00";
    my (undef, undef, undef, $type) = unpack 'C4', take($client, 4);
    my $host = $type == 3 ? take($client, ord take($client, 1)) : join '.', unpack 'C4', take($client, 4);
    my $server = connect_to($type == 3 ? 'socks5-name' : 'socks5-address', $host, unpack 'n', take($client, 2));
    syswrite $client, "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00";
    return $server;
}

sub http {
    my ($client, $head) = @_;
    $head .= take($client, 1) until $head =~ /\r\n\r\n$/;
    my ($proof) = $head =~ /^Proxy-Authorization: (.*)\r$/mi;
    if ($head =~ m{^CONNECT (.*):(\d+) }) {
        my $server = connect_to('connect' . ($proof ? " ($proof)" : ''), $1, $2);
        syswrite $client, "HTTP/1.1 200 OK\r\n\r\n";
        return $server;
    }
    $head =~ s{^(\w+) http://([^/:]+):(\d+)}{$1 } or exit 1;
    my $server = connect_to('get', $2, $3);
    syswrite $server, $head;
    return $server;
}

while (my $client = $listener->accept) {
    next if fork;
    my $first = take($client, 1);
    my $server = $first eq "\x05" ? socks($client) : http($client, $first);
    my $both = IO::Select->new($client, $server);
    while (my @ready = $both->can_read) {
        for my $from (@ready) {
            sysread $from, my $text, 65536 or exit 0;
            my $to = $from == $client ? $server : $client;
            while (length $text) {
                my $count = syswrite $to, $text or exit 0;
                substr $text, 0, $count, '';
            }
        }
    }
}
