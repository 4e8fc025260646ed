/** The command line. */
package io.cqring.simnic.cli;
