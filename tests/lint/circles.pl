#!/usr/bin/perl
# Finds circles of files in each room (common/kube, watcher, …) of the tree at ROOT (default: this one): A calls functions
# of B, and B those of A; or A's header includes B's, and B's header A's; or the same over more files. A file is a .c with
# the .h of its name. Function pointers do not count, nor does it who else includes a header.
# Ends non-zero when anything is found; says how much it looked at.
use strict;
use warnings;

my $root = shift // '.';
chdir $root or die "$root: $!\n";
my @files = grep { m{^(?:common|watcher|reconciler|barrier|jobs|cli)/.*\.[ch]$} }
	-e '.git' ? split /\n/, qx(git ls-files) : split /\n/, qx(find . -type f -printf '%P\\n');
my (%defined, %own, %text, %calls, %includes, %room);
my ($found, $edges) = (0, 0);

sub unit { return $_[0] =~ s/\.[ch]$//r }

for my $file (@files) {
	my $unit = unit($file);
	open my $in, '<', $file or die "$file: $!\n";
	my $code = do { local $/; <$in> };

	($room{$unit}) = $file =~ m{^(common/[^/]+|[^/]+)/};
	if ($file =~ /\.h$/) {
		$includes{$unit}{unit($_)} = "$file includes it" for grep { -e } $code =~ /^#include "([^"]+)"/mg;
	}
	$code =~ s{/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'}{ }gs;
	# a definition: its head begins a line, and so does the brace behind it
	while ($code =~ /^((?:[a-z_][^\n;{}=#]*[ *])?(\w+)\([^;{}]*\))\n\{/mg) {
		my ($head, $name) = ($1, $2);
		$own{$unit}{$name} = 1;
		$defined{$name} = $unit unless $name eq 'main' || ($head =~ /^static/ && $file =~ /\.c$/);
	}
	$code =~ s/^[a-z_][^;{}=]*;//mg; # declarations
	$text{$unit} .= $code;
}

for my $unit (sort keys %text) {
	while ($text{$unit} =~ /\b([a-z_]\w*)\(/g) {
		my $to = $defined{$1};
		next if !defined $to || $own{$unit}{$1} || $room{$to} ne $room{$unit};
		$calls{$unit}{$to} //= "calls $1";
	}
}

# The files from which $to is reached over ways that begin at $from: by depth first search.
sub reached {
	my ($graph, $from) = @_;
	my %seen;
	my @todo = keys %{$graph->{$from} // {}};

	while (defined(my $unit = pop @todo)) {
		push @todo, keys %{$graph->{$unit} // {}} unless $seen{$unit}++;
	}
	return \%seen;
}

for my $graph (\%calls, \%includes) {
	my %reach = map { $_ => reached($graph, $_) } keys %$graph;
	my %told;

	$edges += keys %$_ for values %$graph;
	for my $unit (sort keys %reach) {
		next if !$reach{$unit}{$unit} || $told{$unit};
		my @circle = sort grep { $reach{$unit}{$_} && $reach{$_} && $reach{$_}{$unit} } keys %reach;
		$told{$_} = 1 for @circle;
		$found++;
		print "circles: @circle\n";
		for my $from (@circle) {
			print "    $from $graph->{$from}{$_} ($_)\n" for grep { exists $graph->{$from}{$_} } @circle;
		}
	}
}
print 'circles: ', scalar(keys %text), ' files, ', scalar(keys %defined), " functions, $edges calls and includes\n";
exit($found > 0);
