#!/bin/bash
# What the programs are made of, as SPDX 2.3 JSON on stdout: sbom.sh PROGRAM… The sources with their licence, and the
# Debian packages of every library that a program loads, with the versions on this machine. SOURCE_DATE_EPOCH, or the
# last commit, says when; so that the same tree on the same packages gives the same text.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || { echo "usage: sbom.sh PROGRAM…" >&2; exit 2; }
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
version=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
architecture=$(dpkg --print-architecture)

# Directly needed libraries only would hide what they bring along: ldd names all.
packages=$(manifests/images/packages.sh --all "$@" |
	xargs dpkg-query -W -f='${Package}\t${Version}\t${source:Package}\t${source:Version}\n')

{
	for program in "$@"; do
		printf 'file\t%s\t%s\n' "$(basename "$program")" "$(sha256sum "$program" | cut -d' ' -f1)"
	done
	sed 's/^/package\t/' <<<"$packages"
} | jq -RnS --arg created "$created" --arg version "$version" --arg architecture "$architecture" '
	def id: "SPDXRef-" + gsub("[^A-Za-z0-9.-]"; "-");
	[inputs | split("\t")] as $rows
	| [$rows[] | select(.[0] == "file") | {
		SPDXID: ("Program-" + .[1] | id), fileName: ("./" + .[1]), fileTypes: ["BINARY"],
		checksums: [{algorithm: "SHA256", checksumValue: .[2]}],
		licenseConcluded: "Apache-2.0", copyrightText: "NOASSERTION"}] as $files
	| [$rows[] | select(.[0] == "package") | {
		SPDXID: ("Package-" + .[1] | id), name: .[1], versionInfo: .[2], supplier: "Organization: Debian",
		sourceInfo: "built from the source package \(.[3]) \(.[4])", downloadLocation: "NOASSERTION",
		filesAnalyzed: false, licenseConcluded: "NOASSERTION", licenseDeclared: "NOASSERTION",
		copyrightText: "NOASSERTION",
		externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
			referenceLocator: "pkg:deb/debian/\(.[1])@\(.[2] | @uri)?arch=\($architecture)"}]}] as $packages
	| {
		spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT",
		name: "frameworkcontroller-\($version)",
		documentNamespace: "https://spdx.org/spdxdocs/frameworkcontroller-\($version)-\($files[0].checksums[0].checksumValue[0:16])",
		creationInfo: {created: $created, creators: ["Tool: frameworkcontroller-sbom"]},
		documentDescribes: ["SPDXRef-frameworkcontroller"],
		packages: ([{
			SPDXID: "SPDXRef-frameworkcontroller", name: "frameworkcontroller", versionInfo: $version,
			downloadLocation: "NOASSERTION", filesAnalyzed: false, licenseConcluded: "Apache-2.0",
			licenseDeclared: "Apache-2.0", copyrightText: "NOASSERTION"}] + $packages),
		files: $files,
		relationships: (
			[{spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "SPDXRef-frameworkcontroller"}]
			+ [$files[] | {spdxElementId: "SPDXRef-frameworkcontroller", relationshipType: "CONTAINS", relatedSpdxElement: .SPDXID}]
			+ [$packages[] | {spdxElementId: "SPDXRef-frameworkcontroller", relationshipType: "DEPENDS_ON", relatedSpdxElement: .SPDXID}])
	}'
