"""Rules for pmieconf(1): a file for each."""
from condition import parsed
from model import METRIC

HEAD = "#pmieconf-rules 1\n# --- DO NOT MODIFY THIS FILE --- see pmieconf(5)\n"
JOINED = {"and": "&&", "or": "||"}

# Names of instances are what peers call themselves, and a shell runs what is in the command: they are on its standard input, where
# no character means anything. What is between the lines has no end of line, since names have none. It is of each rule and not
# global: pmieconf fails on what is set of a global one that Remove has taken away.
ACTION = r"""shell	alert_action
	enabled	= no
	default	= "$alert_command$ <<'END OF ALERT'\\n$rule$^\\t$action_expand$^\\nEND OF ALERT\\n"
	help	=
"Run \"alert_command\" when the rule condition is true, with the message on its standard input: for webhooks and mail.";

string	alert_command
	default	= "PROGRAM"
	help	=
"Command of alert_action: PROGRAM --webhook URL, or --mail ADDRESS.";
"""


def hosts(text):
    """Metrics of the hosts that pmieconf is to look at."""
    return METRIC.sub(lambda found: found[0] + " $hosts$", text)


def compared(one):
    """A comparison in the language of pmie, which normalizes rates and times to seconds."""
    number = f"${one.number}$" if not one.number.isdigit() else one.number
    if one.is_ratio():
        return hosts(f"100 * {one.metrics[0]} {one.op} {number} * {one.metrics[1]}")
    left = " ".join(word for pair in zip(one.metrics, one.signs + ("",)) for word in pair if word)
    right = {"%": f"{number} / 100", "count/min": f"{number} / 60 count/sec", "": number}.get(one.unit, f"{number} {one.unit}")
    return hosts(f"{left} {one.op} {right}")


def predicate(rule):
    """The whole condition."""
    quantor = "some_host" if rule.of_host else "some_inst"
    if rule.pmie:
        return f"{quantor} (\n    {hosts(rule.pmie)}\n)"
    comparisons, word = parsed(rule.when)
    if word == "or":
        # Each by itself: an instance need not have all.
        return "\n|| ".join(f"{quantor} ( {compared(one)} )" for one in comparisons)
    joined = f"\n    {JOINED.get(word)} ".join(map(compared, comparisons))
    return f"{quantor} (\n    {joined}\n)"


def shown(rule):
    """What a message has of each instance: its value too, if the condition has only one."""
    if rule.shows or rule.of_host:
        return rule.shows or "@%h"
    comparisons, _ = ([], None) if rule.pmie else parsed(rule.when)
    if len(comparisons) != 1 or comparisons[0].is_ratio() or comparisons[0].op == "==":
        return "[%i]@%h"
    return "%v" + {"count/sec": "/s", "count/min": "/s", "msec": "s"}.get(comparisons[0].unit, "") + "[%i]@%h"


def text(rule, program):
    """The file of a rule; `program` sends its alerts."""
    told = f"{rule.why} Look at: {rule.look}. {rule.remedy}".strip()
    quoted = predicate(rule).replace('"', '\\"')
    made = [HEAD, f'''rule	apm.{rule.name}
	summary	= "$rule$"
	enumerate = hosts
	predicate =
"{quoted}"
	enabled	= yes
	version	= 1
	help	=
"{told}";
''', f'''string	rule
	default	= "{rule.summary}"
	modify	= no
	display	= no;
''']
    comparisons = parsed(rule.when)[0]
    for name, number in rule.numbers.items():
        kind = "percent" if any(one.number == name and one.unit == "%" for one in comparisons) else "unsigned"
        made.append(f'''{kind}	{name}
	default	= {number.value}
	help	=
"{number.help}";
''')
    # Mail of email_action has the value and the host that all rules have: no names of instances, which it would put into a command.
    made.append(f'''string	action_expand
	default	= "{shown(rule)}"
	display	= no
	modify	= no;
''')
    made.append(ACTION.replace("PROGRAM", program))
    return "\n".join(made)


def files(rules, program):
    """Text of each file by its name."""
    return {rule.name: text(rule, program) for rule in rules}
