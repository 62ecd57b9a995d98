#!/bin/bash
# Trains on several nodes under Slurm, one process for each GPU:
#
#     sbatch examples/cluster/slurm.sh --data mails.tsv --epochs 20
#
# The script reads the cluster from the variables that srun sets. When a process dies, the others end within a minute
# or so, srun ends the step, and the loop starts all of them again: the training goes on where it stood. Without GPUs,
# leave --gpus-per-task out and give each process its cores by --cpus-per-task.
#SBATCH --job-name=keras-slstm
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
#SBATCH --requeue

set -uo pipefail
export OMP_NUM_THREADS="$SLURM_CPUS_PER_TASK"

for attempt in 1 2 3 4 5; do
    # --kill-on-bad-exit would not give the others the time to say what they waited for.
    srun --distribution=block --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=0 --wait=120 \
        python examples/train_distributed.py --save-every 200 \
        --output "$SLURM_SUBMIT_DIR/runs/$SLURM_JOB_NAME-$SLURM_JOB_ID" "$@" && exit 0
    echo "Attempt $attempt has failed." >&2
done
exit 1
