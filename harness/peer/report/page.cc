// SPDX-License-Identifier: GPL-2.0-only

#include "report/page.hh"

#include <ostream>

#include "report/specification.hh"
#include "report/text.hh"

namespace peer {

namespace {

constexpr std::string_view STYLE = R"css(
:root {
	color-scheme: light dark;
	--text: #1d2127; --quiet: #5d6672; --line: #d8dde3; --page: #ffffff; --raised: #f4f6f8; --link: #0b57c2;
	--passed: #14713a; --failed: #b3201b; --skipped: #8a5a00;
}
@media (prefers-color-scheme: dark) {
	:root {
		--text: #e3e7ec; --quiet: #98a2ae; --line: #343b44; --page: #15181c; --raised: #1e2329; --link: #7db3ff;
		--passed: #55c983; --failed: #ff8078; --skipped: #e5b65a;
	}
}
[hidden] { display: none !important; }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; background: var(--page); color: var(--text);
	font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; }
h2 { margin: 2rem 0 .4rem; font-size: 1.1rem; }
h3 { margin: .8rem 0 .2rem; font-size: .8rem; color: var(--quiet); }
a { color: var(--link); }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { margin: 0; padding: .5rem .7rem; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--page);
	border: 1px solid var(--line); border-radius: 4px; }
.quiet { color: var(--quiet); }
.passed { color: var(--passed); } .failed { color: var(--failed); } .skipped { color: var(--skipped); }
.verdict { margin: 1rem 0 .5rem; font-size: 1.2rem; font-weight: bold; }
.weights { width: auto; }
form { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center;
	margin-top: 1.2rem; padding: .7rem 0; background: var(--page); border-bottom: 1px solid var(--line); }
input[type=search] { flex: 1 1 16rem; }
::placeholder { color: var(--quiet); }
input[type=search], select { padding: .3rem .5rem; font: inherit; color: inherit; background: var(--raised);
	border: 1px solid var(--line); border-radius: 4px; }
/* What a link leads to is not below the form, which stays at the top. */
tr, details { scroll-margin-top: 5rem; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .3rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-size: .8rem; }
@media (max-width: 45rem) { form { position: static; } }
tr:target, details:target { outline: 2px solid var(--link); }
)css";

} // namespace

void begin_page(std::ostream &out, const std::string &title, std::string_view style)
{
	out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
	    << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n<title>"
	    << escape_markup(title) << "</title>\n<style>" << STYLE << style << "</style>\n</head>\n<body>\n";
}

void end_page(std::ostream &out, std::string_view script)
{
	out << "<script>/*<![CDATA[*/" << script << "/*]]>*/</script>\n</body>\n</html>\n";
}

std::string specification_link(const std::string &identifier, const std::string &text)
{
	const std::string url = url_of(identifier);
	return url.empty() ? escape_markup(text) :
			     "<a href=\"" + escape_markup(url) + "\">" + escape_markup(text) + "</a>";
}

} // namespace peer
