package io.cqring.simnic.workload;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Writes the built-in sample. Run it with {@code java SampleRecipe.java sample-moe.csv} and look at what changed.
 *
 * <p>The model is invented. Sizes follow from the constants below; {@link #routedTokens} is the only other source of
 * numbers.
 */
final class SampleRecipe {
    private static final int LAYERS = 8;
    private static final int EXPERTS = 8;
    private static final int EXPERTS_PER_TOKEN = 2;
    private static final long HIDDEN = 2048;
    private static final long VOCABULARY = 32_003;
    private static final long TOKENS = 2 * 4096;
    private static final long NUMBER_BYTES = 2;
    private static final int STEPS = 2;
    private static final int MICRO_BATCHES = 2;

    private static final long ACTIVATION_BYTES = TOKENS * HIDDEN * NUMBER_BYTES;
    private static final long ATTENTION_BYTES = 4 * HIDDEN * HIDDEN * NUMBER_BYTES;
    private static final long EMBEDDING_BYTES = VOCABULARY * HIDDEN * NUMBER_BYTES;
    private static final long NORM_BYTES = HIDDEN * NUMBER_BYTES;
    private static final long ROUTER_BYTES = HIDDEN * EXPERTS * NUMBER_BYTES;

    /** A token on its way to an expert: its numbers, a gate weight of 4 bytes, an expert id of 1. */
    private static final long DISPATCHED_TOKEN_BYTES = HIDDEN * NUMBER_BYTES + 4 + 1;

    /** A token on its way back: its numbers and the gate weight. */
    private static final long COMBINED_TOKEN_BYTES = HIDDEN * NUMBER_BYTES + 4;

    private final StringBuilder csv = new StringBuilder();

    private SampleRecipe() {}

    public static void main(String[] args) throws Exception {
        Files.writeString(Path.of(args[0]), csv());
    }

    static String csv() {
        SampleRecipe recipe = new SampleRecipe();
        recipe.csv
                .append("[rank0 ~ rank7]\n")
                .append("comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,")
                .append("_elapsed_time,algbw,busbw,count\n");
        recipe.init();
        for (int step = 0; step < STEPS; step++) {
            recipe.trainingStep(step);
        }
        return recipe.csv.toString();
    }

    private void init() {
        call("barrier", "dp_group", 0, "init.model_setup");
        for (int i = 0; i < 3; i++) {
            call("all_reduce", "dp_group", 8, "init.model_setup");
        }
        broadcast(EMBEDDING_BYTES, "init.embedding");
        for (int layer = 0; layer < LAYERS; layer++) {
            broadcast(ATTENTION_BYTES, "init.layer" + layer + ".attention");
            broadcast(2 * NORM_BYTES, "init.layer" + layer + ".norms");
            broadcast(ROUTER_BYTES, "init.layer" + layer + ".router");
        }
        broadcast(NORM_BYTES, "init.final_norm");
        broadcast(0, "init.expert_bias"); // this model has none
        call("barrier", "dp_group", 0, "init.model_setup");
    }

    private void trainingStep(int step) {
        for (int microBatch = 0; microBatch < MICRO_BATCHES; microBatch++) {
            point("isend", 1_000_003, "forward.token_ids", "1", "None");
            point("irecv", 1_000_003, "forward.token_ids", "None", "0");
            for (int layer = 0; layer < LAYERS; layer++) {
                layer("forward", step, microBatch, layer);
            }
            // what did not fit into the experts' capacity: nothing in the first micro-batch
            call("all_to_all", "ep_group", 37 * DISPATCHED_TOKEN_BYTES * microBatch, "forward.moe.overflow");
            call("all_reduce", "tp_group", TOKENS * 4, "forward.cross_entropy");
            for (int layer = LAYERS - 1; layer >= 0; layer--) {
                layer("backward", step, microBatch, layer);
            }
        }
        for (int layer = LAYERS - 1; layer >= 0; layer--) {
            call("all_reduce", "dp_group", ATTENTION_BYTES, "step.grads.layer" + layer + ".attention");
        }
        call("all_reduce", "dp_group", EMBEDDING_BYTES, "step.grads.embedding");
        call("all_reduce", "dp_group", LAYERS * (2 * NORM_BYTES + ROUTER_BYTES) + NORM_BYTES, "step.grads.small");
        call("all_reduce", "dp_group", LAYERS * EXPERTS * 4 + 4, "step.router_load");
        call("all_reduce", "dp_group", 0, "step.frozen_parameters");
        call("all_reduce", "tp_group", 4, "step.check_for_nan");
        call("all_gather", "dp_group", 4 * 8 + 1, "step.grad_norms");
        call("reduce", "dp_group", 20, "step.report_loss");
        call("barrier", "dp_group", 0, "step");
        call("epoch_end", null, 0, "");
    }

    private void layer(String direction, int step, int microBatch, int layer) {
        String stage = direction + ".layer" + layer;
        long routed = routedTokens(step, microBatch, layer);
        call("all_gather", "tp_group", ACTIVATION_BYTES, stage + ".attention");
        call("reduce_scatter", "tp_group", ACTIVATION_BYTES, stage + ".attention");
        call("all_to_all", "ep_group", routed * DISPATCHED_TOKEN_BYTES, stage + ".moe.dispatch");
        call("all_to_all", "ep_group", routed * COMBINED_TOKEN_BYTES, stage + ".moe.combine");
    }

    /** A token that draws the same expert twice travels once: up to a thousand fewer, differently in every layer. */
    private static long routedTokens(int step, int microBatch, int layer) {
        return TOKENS * EXPERTS_PER_TOKEN - 97L * ((5 * layer + 3 * microBatch + 7 * step) % 11);
    }

    private void broadcast(long bytes, String stage) {
        line("broadcast", "CommGroup.dp_group", "8", bytes, stage, "None", "0");
    }

    private void point(String kind, long bytes, String stage, String dst, String src) {
        line(kind, "CommGroup.pp_group", "8", bytes, stage, dst, src);
    }

    private void call(String kind, String group, long bytes, String stage) {
        if (group == null) {
            line(kind, "None", "None", bytes, stage, "None", "None");
        } else {
            line(kind, "CommGroup." + group, "8", bytes, stage, "None", "None");
        }
    }

    private void line(String kind, String group, String groupSize, long bytes, String stage, String dst, String src) {
        csv.append("CommType.")
                .append(kind)
                .append(',')
                .append(group)
                .append(',')
                .append(groupSize);
        csv.append(',')
                .append(bytes)
                .append(',')
                .append(stage)
                .append(',')
                .append(dst)
                .append(',')
                .append(src);
        csv.append(",,None,None,None,1\n");
    }
}
