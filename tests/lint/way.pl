#!/usr/bin/perl
# Follows the table "the way of a Pod event" in watcher/ARCHITECTURE.md §5.5 through the code of the tree at ROOT
# (default: this one). Each row names a file, functions that call each other in this order, and how the last one gives the
# event on:
#   calls                     it calls the first function of the next row
#   callback `NAME`           it calls the member NAME; somebody sets a callback to the first function of the next row
#   waits in FILE: `PUT`, `TAKE`
#                             it calls PUT of FILE, and a later row calls TAKE. The next row begins with a callback, or
#                             with a function that is on the stack already
#   sent by `NAME`, kept in `NAME`
#                             it names NAME. The next row begins likewise
#   the plan                  the end
# So no file between two rows can be left out. The first column names at most MAX files, however often each.
use strict;
use warnings;

use constant MAX => 15;

my $root = shift // '.';
chdir $root or die "$root: $!\n";
my $document = 'watcher/ARCHITECTURE.md';
my (@rows, %code, %body, $all);
my $wrong = 0;

sub wrong
{
	my ($row, $text) = @_;

	print "way: $document:$row->{line}: $text\n";
	$wrong++;
}

sub slurp
{
	my ($file) = @_;

	open my $in, '<', $file or return '';
	local $/ = undef;
	my $text = <$in>;
	$text =~ s{/\*.*?\*/}{ }gs;
	return $text;
}

# The text of a function that a file defines, or undef.
sub body
{
	my ($file, $name) = @_;

	$code{$file} //= slurp($file);
	return $code{$file} =~ /^[a-z_][^\n;{}=#]*\b\Q$name\E\([^;{}]*\)\n(\{.*?^\})/ms ? $1 : undef;
}

# Whether a function is somewhere used without being called: as a callback.
sub is_callback
{
	my ($name) = @_;

	return $all =~ /[(,=]\s*\Q$name\E\s*[,;})]/;
}

open my $in, '<', $document or die "$document: $!\n";
while (<$in>) {
	next unless /^\| (\S+\.c) \| (.+?) \| (.+?) \|$/;
	my %row = (line => $., file => $1, gives => $3);
	$row{functions} = [$2 =~ /`(\w+)`/g];
	push @rows, \%row;
}
die "way: $document has no table of the way of a Pod event\n" if @rows < 2;
$all = join "\n", map { slurp($_) } glob '{common,watcher,reconciler}/*.c {common,watcher,reconciler}/*/*.c common/*/*/*.c';

my (%files, %seen, @takes);
for my $i (0 .. $#rows) {
	my $row = $rows[$i];
	my $next = $rows[$i + 1];
	my $first = $next ? $next->{functions}[0] : '';
	my @functions = @{$row->{functions}};

	$files{$row->{file}} = 1;
	for my $at (0 .. $#functions) {
		my $name = $functions[$at];
		my $body = body($row->{file}, $name);

		$seen{$name} = 1;
		if (!defined $body) {
			wrong($row, "$row->{file} does not define $name");
			next;
		}
		@takes = grep { $body !~ /\b\Q$_->[0]\E\(/ } @takes;
		if ($at < $#functions) {
			wrong($row, "$name does not call $functions[$at + 1]") if $body !~ /\b\Q$functions[$at + 1]\E\(/;
			next;
		}
		if ($row->{gives} eq 'calls') {
			wrong($row, "$name does not call $first of the next row") if !$next || $body !~ /\b\Q$first\E\(/;
		} elsif ($row->{gives} =~ /^callback `(\w+)`/) {
			wrong($row, "$name does not call the callback $1") if $body !~ /(?:->|\.)\Q$1\E\(/;
			wrong($row, "$first of the next row is no callback") if !is_callback($first);
		} elsif ($row->{gives} =~ /^waits in (\S+\.c): `(\w+)`, `(\w+)`$/) {
			my ($file, $put, $take) = ($1, $2, $3);

			wrong($row, "$name does not call $put") if $body !~ /\b\Q$put\E\(/;
			for ($put, $take) {
				wrong($row, "$file does not define $_") if !defined body($file, $_);
			}
			wrong($row, "$first of the next row is no callback") if !$seen{$first} && !is_callback($first);
			push @takes, [$take, $row];
		} elsif ($row->{gives} =~ /^(?:sent by|kept in) `(\w+)`$/) {
			wrong($row, "$name does not name $1") if $body !~ /\b\Q$1\E\b/;
			wrong($row, "$first of the next row is no callback") if !$seen{$first} && !is_callback($first);
		} elsif ($row->{gives} ne 'the plan' || $next) {
			wrong($row, "\"$row->{gives}\" is none of the ways to give an event on");
		}
	}
}
wrong($_->[1], "no later row calls $_->[0]") for @takes;
my $count = keys %files;
wrong($rows[0], "a Pod event passes $count files, expected at most " . MAX) if $count > MAX;
print "way: a Pod event passes $count files, in ", scalar @rows, " steps\n";
exit($wrong > 0);
