package io.github.reactorratelimit.fairness;

/** What a call asks for. A grant serves any call that asked for the same, and no other. */
record Terms(Kind kind, long permits) {}
