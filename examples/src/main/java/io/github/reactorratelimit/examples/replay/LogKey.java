package io.github.reactorratelimit.examples.replay;

/** Whom a line of an access log counts for; a CSV names its keys itself. */
public enum LogKey {
    /** The client's address, or name. */
    HOST,
    /** The user who was logged in. */
    USER,
    /** The path that was asked for, without its query. */
    PATH,
    /** All together. */
    ALL
}
