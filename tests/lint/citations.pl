#!/usr/bin/perl
# Checks the citations of documents in the tree at ROOT (default: this one):
#   - each "X.md §5.4" (and what continues it: "§5.4, §6 and §8") names a tracked document, by its path or by a base name
#     that no other document has, and a section or statement of it; in a document with numbered sections, a § without a
#     document names one of its own, and so does a number between parentheses where statements are numbered;
#   - each X.md "Heading" names a document and a heading in it, or the beginning of one;
#   - each link of a document to a file of the tree finds the file, and the heading behind a #;
#   - documents that are not part of the project are not cited;
#   - each "Code:" paragraph names files that exist, and functions (or tables) that they define; where it has the numbers of
#     statements, it has those of all statements of its section.
# Ends non-zero when anything is found; says how much it looked at.
use strict;
use warnings;
use utf8;
binmode STDOUT, ':utf8';

my $root = shift // '.';
chdir $root or die "$root: $!\n";
my @files = -e '.git' ? split /\n/, qx(git ls-files) : split /\n/, qx(find . -type f -printf '%P\\n');
my (%text, %by_name, %sections, %headings, %statements);
my ($found, $citations, $functions) = (0, 0, 0);

# Documents that a clone of the project does not contain. (Written so that this file does not name them.)
my $elsewhere = join '|', (map { "$_\\.md" } 'FRAME' . 'WORK', 'DES' . 'IGN', 'ST' . 'YLE', 'EXTEN' . 'SIONS', 'FA' . 'CTS'),
	'PIT' . 'FALLS(?:\\.md)?';
my $outside = join '|', qw(RFC YAML);

sub complain { print "citations: @_\n"; $found++ }

sub line_of { my ($file, $at) = @_; return 1 + (substr($text{$file}, 0, $at) =~ tr/\n//) }

for my $file (@files) {
	next unless -f $file && -T $file && $file !~ m{^tests/(fuzz/corpus|unit/data|lint)/};
	open my $in, '<:utf8', $file or next;
	local $/;
	$text{$file} = <$in> // '';
	next unless $file =~ /\.md$/;
	push @{ $by_name{ $file =~ s{.*/}{}r } }, $file;
	$headings{$file} = [ $text{$file} =~ /^#+ +(.*?) *$/mg ];
	$sections{$file}{$1} = 1 while $text{$file} =~ /^#+ +§?(\d+(?:\.\d+)*) /mg;
	$statements{$file}{$1} = 1 while $text{$file} =~ /^(?: *- )?\*\*(\d+(?:\.\d+)+)\*\*/mg;
}

# The document that a citation in a file means; undef, and a complaint.
sub document {
	my ($file, $at, $name) = @_;
	return $name if exists $headings{$name};
	my $same = $by_name{$name} // [];
	return $same->[0] if @$same == 1;
	complain("$file:" . line_of($file, $at) . ": $name: " . (@$same ? "there are several: name its folder" : "there is no such document"));
	return undef;
}

sub check_section {
	my ($file, $at, $document, $number) = @_;
	$citations++;
	return if $sections{$document}{$number} || $statements{$document}{$number};
	complain("$file:" . line_of($file, $at) . ": $document has no §$number");
}

my $number = qr/\d+(?:\.\d+)*/;
my $gap = qr{[ \t]*(?:\n[ \t]*(?:\*|//|\#)?[ \t]*)?}; # a citation may go on in the next line of a comment
my $more = qr/(?:,|;|–|-| and| or| to|,? and)$gap§$number/;

for my $file (sort keys %text) {
	my $t = $text{$file};
	while ($t =~ /\b($elsewhere)\b/g) {
		complain("$file:" . line_of($file, $-[0]) . ": $1 is not part of the project");
	}
	# One citation, with all that continues it.
	my %seen;
	while ($t =~ m{([\w./-]+\.md)\)?$gap((?<!\w)§$number$more*)}g) {
		my ($name, $list, $at) = ($1, $2, $-[2]);
		my $document = $name =~ /^(?:$elsewhere)$/ ? undef : document($file, $-[0], $name);
		while ($list =~ /§($number)/g) {
			$seen{ $at + $-[0] } = 1;
			check_section($file, $at, $document, $1) if defined $document;
		}
	}
	while ($t =~ m{([\w./-]+\.md)\)?,?$gap"([A-Z][^"\n]*)"}g) {
		my ($name, $heading, $at) = ($1, $2, $-[0]);
		next if $name =~ /^(?:$elsewhere)$/;
		my $document = document($file, $at, $name) // next;
		$citations++;
		complain("$file:" . line_of($file, $at) . ": $document has no heading \"$heading\"")
			unless grep { index(s/^§?$number +//r, $heading) == 0 } @{ $headings{$document} };
	}
	# A § that follows no document: of the document itself, or of something outside.
	while ($t =~ /§($number)?/g) {
		my $at = $-[0];
		next if $seen{$at};
		my $before = substr $t, $at > 60 ? $at - 60 : 0, $at > 60 ? 60 : $at;
		next if $before =~ /(?:$outside)[ \w.]*,?[ \n*\/#]*$/ || $before =~ /(?:^|\n)#+ $/;
		if (defined $1 && %{ $sections{$file} // {} }) {
			check_section($file, $at, $file, $1);
		} else {
			complain("$file:" . line_of($file, $at) . ": § of which document?");
		}
	}
}

# What stands behind the # of a link to a heading.
sub anchor { my $heading = lc shift; $heading =~ s/[^\w\s-]//g; return $heading =~ s/ /-/gr }

for my $file (sort keys %headings) {
	while ($text{$file} =~ /\]\(([^)\s#:]*)(?:#([^)\s]+))?\)/g) {
		my ($path, $anchor, $at) = ($1, $2, $-[0]);
		my $target = $path eq '' ? $file : ($file =~ s{[^/]*$}{}r) . $path;
		1 while $target =~ s{(?:^|(?<=/))(?!\.\./)[^/]+/\.\./}{} || $target =~ s{/$}{};
		$citations++;
		if (!-e $target) {
			complain("$file:" . line_of($file, $at) . ": there is no $path");
		} elsif (defined $anchor && !grep { anchor($_) eq $anchor } @{ $headings{$target} // [] }) {
			complain("$file:" . line_of($file, $at) . ": $target has no heading for #$anchor");
		}
	}
}

# Between parentheses a document's own statements stand as numbers alone: (5.4, 5.6 to 5.8).
for my $file (sort keys %statements) {
	while ($text{$file} =~ /\((\d+\.$number(?:(?:,| and| to)\s$number)*)\)/g) {
		my $at = $-[0];
		check_section($file, $at, $file, $_) for $1 =~ /($number)/g;
	}
}

# Whether a file defines a function, or a table.
sub defines {
	my ($file, $name) = @_;
	return $text{$file} =~ /^[a-z][^\n;={}()]*\b\Q$name\E\((?:[^;{}]|\n)*?\)\s*\n?\{/m ||
		$text{$file} =~ /^[a-z][^\n;]*\b\Q$name\E(?:\[[^\n]*\])* = /m;
}

sub check_code {
	my ($file, $line, $code) = @_;
	my (@names, $in, $users);
	my $rooms = qr{common|watcher|reconciler|barrier|jobs|manifests|tests};
	while ($code =~ m{`([a-z]\w*)`|\b((?:$rooms)/[\w./-]*\w)|(; |\.(?: |$))|(callers of)|\bIn (?=[a-z])}g) {
		my ($name, $path, $end, $callers) = ($1, $2, $3, $4);
		if (defined $name) {
			$functions++;
			if (defined $in) {
				complain("$file:$line: $in does not define $name") unless !exists $text{$in} || defines($in, $name);
			} else {
				@names = () if $users && $users > 1;
				$users = 1 if $users && $users > 1;
				push @names, $name;
			}
		} elsif (defined $path) {
			if (!-e $path || (@names && !exists $text{$path})) {
				complain("$file:$line: there is no " . (-e $path ? "file $path" : $path));
				@names = ();
			} elsif (defined $in && $in eq '') {
				$in = $path;
			} elsif ($users) {
				$users = 2; # several files may follow
				complain("$file:$line: $path does not use $_") for grep { $text{$path} !~ /\b\Q$_\E\(/ } @names;
			} else {
				complain("$file:$line: $path does not define $_") for grep { !defines($path, $_) } @names;
				@names = ();
			}
		} elsif (defined $end) {
			complain("$file:$line: in which file is $_?") for $users && $users > 1 ? () : @names;
			@names = ();
			undef $users;
			undef $in;
		} elsif (defined $callers) {
			$users = 1;
		} else {
			$in = '';
		}
	}
	complain("$file:$line: in which file is $_?") for $users && $users > 1 ? () : @names;
}

# The statements above a "Code:" paragraph that it does not name: by their own numbers, those above them, or a range.
sub check_complete {
	my ($file, $line, $code, $above) = @_;
	my %named;
	for my $list ($code =~ /\(($number(?:(?:,| and| to) $number)*)\)/g) {
		while ($list =~ /($number)(?: to ($number))?/g) {
			my ($first, $last) = ($1, $2 // $1);
			my ($section, $from, $to) = ($first =~ /^(\d+)\.(\d+)/, $last =~ /^\d+\.(\d+)/);
			$named{$_} = 1 for $first, $last, map { "$section.$_" } $from .. $to;
		}
	}
	return unless %named;
	for my $statement ($above =~ /^(?: *- )?\*\*(\d+(?:\.\d+)+)\*\*/mg) {
		complain("$file:$line: no code for statement $statement") unless $named{$statement} || $named{ $statement =~ s/\.\d+$//r };
	}
}

for my $file (sort grep { /\.md$/ } keys %text) {
	my $begin = 0;
	while ($text{$file} =~ /^Code: ((?:.+\n)*.*)/mg) {
		my ($code, $at, $end) = ($1, $-[0], $+[0]);
		$code =~ s/\s+/ /g;
		check_code($file, line_of($file, $at), $code);
		check_complete($file, line_of($file, $at), $code, substr($text{$file}, $begin, $at - $begin));
		$begin = $end;
	}
}

print "citations: ", scalar keys %text, " files, $citations citations, $functions functions\n";
exit($found > 0);
