"""System calls: their table, and traces of other tools that become one."""
