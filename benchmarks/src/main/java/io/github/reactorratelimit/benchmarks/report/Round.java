package io.github.reactorratelimit.benchmarks.report;

/**
 * One round of one contender, as the data files keep it.
 *
 * @param contender its name
 * @param number of the round, from 1
 * @param sample what it gave
 */
public record Round(String contender, int number, Sample sample) {}
