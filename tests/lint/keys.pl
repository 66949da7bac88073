#!/usr/bin/perl
# keys.pl SALT FILE.c...: a line "KEY FILE" for each file. The key is a hash of SALT, of the file's text, and of the
# text of the headers that it includes with "", found as the compiler finds them: beside the file, or below the tree. The
# headers of the system go with the compiler's version, which is part of SALT.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);

my ($salt, @files) = @ARGV;
my (%text, %includes);

sub read_in {
	my $file = shift;
	return if defined $text{$file};
	open my $in, '<', $file or die "$file: $!\n";
	$text{$file} = do { local $/; <$in> };
	my $beside = $file =~ s{[^/]*$}{}r;
	for my $name ($text{$file} =~ /^\s*#\s*include\s+"([^"]+)"/mg) {
		my ($header) = grep { -e } $beside . $name, $name;
		push @{ $includes{$file} }, $header if defined $header;
	}
}

for my $file (@files) {
	my %seen = ($file => 1);
	my @left = ($file);
	while (defined(my $next = shift @left)) {
		read_in($next);
		push @left, grep { !$seen{$_}++ } @{ $includes{$next} // [] };
	}
	print sha256_hex(join("\0", $salt, $file, map { ($_, $text{$_}) } sort keys %seen)), " $file\n";
}
