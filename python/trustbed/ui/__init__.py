"""Stores, runs and campaigns in a browser: a read-only server for one person on this machine.

:mod:`~trustbed.ui.library` knows what the URL names, :mod:`~trustbed.ui.selection` chooses among
its transfers, :mod:`~trustbed.ui.captures` reads captures again and :mod:`~trustbed.ui.points`
keeps what they are drawn from; :mod:`~trustbed.ui.pages` puts it into words,
:mod:`~trustbed.ui.application` answers requests, :mod:`~trustbed.ui.guard` decides who gets an
answer, and :mod:`~trustbed.ui.server` listens.
"""
